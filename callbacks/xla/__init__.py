"""fastai on XLA: TPUs, and the CPU through the same compiler. The only package that imports torch_xla.

from callbacks.xla import XLA
learn.fit_one_cycle(3, cbs=XLA())           # or learn.to_xla() for all that follows

In a process that also trains on the CPU, call ``callbacks.xla.start()`` before the first training.
"""

from typing import Any

from callbacks.xla.errors import XLAError
from callbacks.xla.runtime import start

__all__ = ["XLA", "XLAError", "XLAMetrics", "start"]


def __getattr__(name: str) -> Any:
    """Import what needs fastai when it is asked for: ``app.devices`` does without."""
    if name == "XLA":
        from callbacks.xla.learner import XLA

        return XLA
    if name == "XLAMetrics":
        from callbacks.xla.report import XLAMetrics

        return XLAMetrics
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
