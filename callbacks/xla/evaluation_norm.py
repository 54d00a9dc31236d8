"""Batch norm with fixed statistics, in a form through which torch_xla can train.

with in_parts(): ...                        # while a body is fine-tuned whose batch norms are in evaluation mode

torch_xla's own backward pass for it ends in an internal error (pytorch/xla issue 3361).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F


@contextmanager
def in_parts() -> Iterator[None]:
    """While inside, ``F.batch_norm``, which all layers call, is a product and a sum where XLA needs a gradient."""
    whole = F.batch_norm
    F.batch_norm = _batch_norm(whole)
    try:
        yield
    finally:
        F.batch_norm = whole


def _batch_norm(whole: Any) -> Any:
    def batch_norm(
        input: torch.Tensor,
        running_mean: torch.Tensor | None,
        running_var: torch.Tensor | None,
        weight: torch.Tensor | None = None,
        bias: torch.Tensor | None = None,
        training: bool = False,
        momentum: float = 0.1,
        eps: float = 1e-5,
    ) -> torch.Tensor:
        if training or input.device.type != "xla" or not torch.is_grad_enabled():
            return whole(input, running_mean, running_var, weight, bias, training, momentum, eps)
        scale = torch.rsqrt(running_var + eps)
        scale = scale if weight is None else scale * weight
        shift = -running_mean * scale if bias is None else bias - running_mean * scale
        shape = (1, -1, *[1] * (input.ndim - 2))
        return (input * scale.view(shape) + shift.view(shape)).to(input.dtype)

    return batch_norm
