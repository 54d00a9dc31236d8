"""How much memory this process has had at most.

say_peak_memory()                           # memory: 1.4 GB at most
"""

import sys

from app import report


def peak_bytes() -> int | None:
    """The most memory that was resident at one time, files that are mapped included; None on Windows."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 2**10  # kilobytes on Linux


def say_peak_memory() -> None:
    """Say it, where it is known."""
    peak = peak_bytes()
    if peak is not None:
        report.say(f"memory: {peak / 2**30:.1f} GB at most, mapped files of the cache included")
