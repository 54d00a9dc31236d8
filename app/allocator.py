"""Let the C library keep the memory that tensors give back, so that the next step has it without asking the kernel.

keep_freed_memory()                         # before the first large tensor
"""

import ctypes
from contextlib import suppress

# Of glibc's mallopt(3): blocks are never mapped for themselves, and the heap is never made smaller.
MMAP_MAX, TRIM_THRESHOLD = -4, -1


def keep_freed_memory() -> bool:
    """Turn it on for this process; returns False where the C library has no such thing, as on macOS and Windows.

    By default glibc maps every block of some megabytes and gives it back when it is freed; a training step on a CPU
    then meets its activations as hundreds of thousands of page faults. The peak of memory grows by a quarter or so, as
    freed blocks of one size do not always fit the next.
    """
    with suppress(OSError, AttributeError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        return bool(mallopt(MMAP_MAX, 0) and mallopt(TRIM_THRESHOLD, -1))
    return False
