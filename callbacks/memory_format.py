"""Channels last: the layout in which CPUs and tensor cores convolve fastest.

learn.fit_one_cycle(3, cbs=ChannelsLast())
"""

import torch
from torch import nn

from callbacks.scoped import ScopedCallback


class ChannelsLast(ScopedCallback):
    """Model and images are laid out (N, H, W, C) in memory while fastai runs them; shapes do not change.

    Weights are laid out in place, so that the optimizer keeps hold of them.
    """

    order = 9  # with fastai's CastToTensor, before anything that looks at the batch

    def enter(self) -> None:
        _lay_out(self.learn.model, torch.channels_last)

    def leave(self) -> None:
        _lay_out(self.learn.model, torch.contiguous_format)

    def before_batch(self):
        self.learn.xb = tuple(
            x.contiguous(memory_format=torch.channels_last) if isinstance(x, torch.Tensor) and x.ndim == 4 else x
            for x in self.learn.xb
        )


@torch.no_grad()
def _lay_out(model: nn.Module, memory_format: torch.memory_format) -> None:
    for parameter in model.parameters():
        if parameter.ndim == 4:
            parameter.data = parameter.data.contiguous(memory_format=memory_format)
            if parameter.grad is not None:  # of an earlier fit; torch warns of a gradient in another layout
                parameter.grad = parameter.grad.contiguous(memory_format=memory_format)
