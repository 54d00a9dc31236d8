"""What XLA cannot train, said before it fails in the middle or, worse, does not."""

from fastai.callback.fp16 import MixedPrecision
from fastai.learner import Learner

from callbacks.compile import CompileForward
from callbacks.ema import AveragedWeights
from callbacks.memory_format import ChannelsLast
from callbacks.xla.errors import XLAError

REFUSED = {
    MixedPrecision: 'MixedPrecision is for CUDA: use callbacks.autocast.Autocast("bf16")',
    ChannelsLast: "ChannelsLast has no meaning, XLA lays out tensors itself: leave it out",
    AveragedWeights: "AveragedWeights would bring every weight to the host and back: leave it out",
    CompileForward: "CompileForward has no meaning, XLA compiles itself: leave it out",
}


def check_callbacks(learn: Learner) -> None:
    """Raise an XLAError where a callback of the Learner does what XLA cannot."""
    for callback in learn.cbs:
        for kind, reason in REFUSED.items():
            if isinstance(callback, kind):
                raise XLAError(reason)
