"""Bring a Learner's tensors to a device and back, so that whoever holds a parameter goes on holding it.

``model.to("xla")`` makes new parameters: fastai's optimizer would go on with the old ones, and nothing would be
trained, without a word. Here what a parameter consists of is exchanged, and the object stays.
"""

import gc
import sys
import traceback
from collections.abc import Callable
from typing import Any

import torch
from fastai.learner import Learner
from fastai.losses import BaseLoss
from torch import nn

from callbacks.host import to_host
from callbacks.xla import optimizer

Put = Callable[[torch.Tensor], None]


def to_device(learn: Learner, device: torch.device, loss: Any) -> None:
    """Move the model, the optimizer's state, and the tensors of `loss`; gradients are dropped."""
    for tensor, put in _places(learn, loss):
        put(tensor.detach().to(device))


def to_cpu(learn: Learner, loss: Any) -> None:
    """Undo `to_device`, in one transfer."""
    places = [(tensor, put) for tensor, put in _places(learn, loss) if tensor.device.type != "cpu"]
    values = to_host([tensor for tensor, _ in places])
    puts = [put for _, put in places]
    try:
        while values:
            puts[-1](values[-1])
            del puts[-1], values[-1]
    except RuntimeError:
        # The graph of a step that an exception broke off holds the parameters, in the local variables of its frames.
        _clear_frames(sys.exc_info()[1].__context__)
        while values:
            puts.pop()(values.pop())


def _places(learn: Learner, loss: Any) -> list[tuple[torch.Tensor, Put]]:
    """Every tensor that has to move, with what puts another in its place; each parameter and buffer once."""
    found: list[tuple[torch.Tensor, Put]] = []
    seen: set[int] = set()
    modules = list(learn.model.modules())
    loss = loss.func if isinstance(loss, BaseLoss) else loss
    if isinstance(loss, nn.Module):
        modules += loss.modules()
    for module in modules:
        for parameter in module._parameters.values():
            if parameter is not None and id(parameter) not in seen:
                seen.add(id(parameter))
                parameter.grad = None
                found.append((parameter, _exchanger(parameter)))
        for name, buffer in module._buffers.items():
            if buffer is not None:
                found.append((buffer, _setter(module._buffers, name)))
    if learn.opt is not None:
        found += [(state[key], _setter(state, key)) for state, key in optimizer.tensors(learn.opt)]
    return found


def _exchanger(parameter: nn.Parameter) -> Put:
    def put(value: torch.Tensor) -> None:
        trained = parameter.requires_grad
        fresh = nn.Parameter(value, requires_grad=trained)
        fresh.__dict__.update(parameter.__dict__)
        # Where a graph from before it was frozen is held by somebody, swap_tensors looks for its node there, and
        # raises for a tensor without gradient.
        parameter.requires_grad_(trained or parameter.is_floating_point())
        try:
            torch.utils.swap_tensors(parameter, fresh)
        except RuntimeError:
            parameter.requires_grad_(trained)
            raise

    return put


def _setter(container: Any, key: Any) -> Put:
    def put(value: torch.Tensor) -> None:
        container[key] = value

    return put


def _clear_frames(error: BaseException | None) -> None:
    """Empty the frames that `error`, and what it came from, have passed through; they have ended."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__context__
    gc.collect()
