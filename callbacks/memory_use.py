"""How much memory a training takes, in this process and on its device.

peak_bytes()                                # of this process, or None
memory_tags()                               # {"memory/process": 1.4, "memory/device": 5.1}, in GB, for TensorBoard
"""

import sys

import torch


def peak_bytes() -> int | None:
    """The most memory that was resident at one time, files that are mapped included; None on Windows."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 2**10  # kilobytes on Linux


def memory_tags() -> dict[str, float]:
    """The largest use so far, in GB of 2^30 bytes: of the process where it is known, of a CUDA GPU if there is one."""
    peak = peak_bytes()
    found = {} if peak is None else {"memory/process": peak / 2**30}
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        found["memory/device"] = torch.cuda.max_memory_allocated() / 2**30
    return found
