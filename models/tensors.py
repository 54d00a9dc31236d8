"""The few names of a pickle that do make something: containers, tensors and parameters, and an enumeration.

MAKERS["torch._utils", "_rebuild_tensor_v2"](storage, 0, (3,), (1,), False, OrderedDict())
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn


def _tensor(storage: Any, offset: int, size: tuple, stride: tuple, *_: Any) -> Tensor:
    """A tensor on a storage that torch.load has read; without gradient, hooks and metadata."""
    return torch._utils._rebuild_tensor(storage, offset, size, stride)


def _fastai_tensor(_: Any, *args: Any) -> Tensor:
    """A tensor of one of fastai's types, as a plain one."""
    return _tensor(*args)


def _of_type(make: Callable, _: Any, args: tuple, __: Any) -> Tensor:
    """A tensor of a subclass, as a plain one."""
    if make not in (_tensor, _parameter):
        raise ValueError("a tensor that is made in an unknown way")
    return make(*args)


def _parameter(data: Tensor, *_: Any) -> nn.Parameter:
    return nn.Parameter(data, requires_grad=False)


def _timm_format(name: str) -> Any:
    """timm's order of axes, an enumeration that networks compare with."""
    from timm.layers.format import Format

    return Format(name)


MAKERS: dict[tuple[str, str], Callable] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("builtins", "set"): set,
    ("torch", "Size"): torch.Size,
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("torch._utils", "_rebuild_parameter"): _parameter,
    ("torch._tensor", "_rebuild_from_type_v2"): _of_type,
    ("timm.layers.format", "Format"): _timm_format,
    ("fastai.torch_core", "_fa_rebuild_tensor"): _fastai_tensor,
}
