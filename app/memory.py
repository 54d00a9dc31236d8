"""How much memory this process has had at most.

say_peak_memory()                           # memory: 1.4 GB at most
"""

from app import report
from callbacks.memory_use import peak_bytes


def say_peak_memory() -> None:
    """Say it, where it is known."""
    peak = peak_bytes()
    if peak is not None:
        report.say(f"memory: {peak / 2**30:.1f} GB at most, mapped files of the cache included")
