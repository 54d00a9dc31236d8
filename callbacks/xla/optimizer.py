"""fastai's optimizers, in a form that XLA compiles once.

with replaced(opt):
    opt.step()

torch_xla uploads the numbers of a step, such as the learning rate, and keeps those that are equal as one. Where
a number comes to round to another's float32 in the course of a training, 1.0 mostly, the graph is a new one and
is compiled anew (pytorch/xla issues 3604 and 4994). So no number here comes near 1.
"""

import math
from typing import Any

import torch
from fastai import optimizer as fastai_optimizer
from fastai.optimizer import Lookahead, OptimWrapper

from callbacks.xla.errors import XLAError

REFUSED = {fastai_optimizer.lamb_step: "Lamb", fastai_optimizer.larc_layer_lr: "Larc"}


def weight_decay(p: torch.Tensor, lr: float, wd: float, do_wd: bool = True, **_: Any) -> None:
    """As fastai's, which multiplies by ``1 - lr * wd``."""
    if do_wd and wd != 0:
        p.data.add_(p.data, alpha=-lr * wd)


weight_decay.defaults = {"wd": 0.0}


def adam_step(
    p: torch.Tensor,
    lr: float,
    mom: float,
    step: int,
    sqr_mom: float,
    grad_avg: torch.Tensor,
    sqr_avg: torch.Tensor,
    eps: float,
    **_: Any,
) -> torch.Tensor:
    """As fastai's (Kingma and Ba 2014, algorithm 1), with the square of the bias correction in rate and epsilon.

    fastai divides by corrections that grow to 1.
    """
    root = math.sqrt(1 - sqr_mom**step)
    p.data.addcdiv_(grad_avg, sqr_avg.sqrt() + eps * root, value=-lr * root / (1 - mom**step))
    return p


adam_step._defaults = {"eps": 1e-5}

REPLACED = {fastai_optimizer.weight_decay: weight_decay, fastai_optimizer.adam_step: adam_step}
RESTORED = {ours: theirs for theirs, ours in REPLACED.items()}


def check(opt: Any) -> None:
    """Raise an XLAError for an optimizer that reads each parameter's norm from the device at every step."""
    for function in _steppers(opt):
        name = REFUSED.get(getattr(function, "func", function))
        if name is not None:
            raise XLAError(f"{name} reads numbers of every parameter in every step, for which XLA stops: use Adam")


def replace(opt: Any, functions: dict) -> None:
    """Exchange the optimizer's functions that are keys of `functions`: `REPLACED`, or `RESTORED` to undo it."""
    inner = _innermost(opt)
    if hasattr(inner, "cbs"):
        inner.cbs = inner.cbs.map(lambda function: functions.get(function, function))


def tensors(opt: Any) -> list[tuple[Any, Any]]:
    """Where the optimizer keeps tensors, as (container, key): the averages of gradients, and Lookahead's weights.

    The step counters of torch's own optimizers are left out: they are read as numbers.
    """
    found = []
    while opt is not None:
        for state in () if isinstance(opt, Lookahead) else opt.state.values():
            found += [(state, key) for key, value in state.items() if isinstance(value, torch.Tensor) and key != "step"]
        for group in getattr(opt, "slow_weights", None) or ():
            found += [(group, place) for place in range(len(group))]
        opt = getattr(opt, "opt", None) if isinstance(opt, (Lookahead, OptimWrapper)) else None
    return found


def _innermost(opt: Any) -> Any:
    return _innermost(opt.opt) if isinstance(opt, Lookahead) else opt


def _steppers(opt: Any) -> list:
    return list(getattr(_innermost(opt), "cbs", ()))
