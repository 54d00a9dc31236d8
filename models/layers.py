"""fastai's layers around a body, in torch alone: the same names of weights and the same results, without fastai.

head = layers.build(description)            # nn.Sequential
description = layers.describe(head)         # plain values, for a JSON file

fastai's own classes are described as ours are: what counts is the name of a class and its settings.
"""

from typing import Any

import torch
from torch import Tensor, nn

from models.errors import ModelError, brief


class AdaptiveConcatPool2d(nn.Module):
    """Maximum and mean of each channel, (N, C, H, W) to (N, 2C, size, size); as ``fastai.layers``."""

    def __init__(self, size: int = 1):
        super().__init__()
        self.size = size
        self.ap = nn.AdaptiveAvgPool2d(size)
        self.mp = nn.AdaptiveMaxPool2d(size)

    def forward(self, x: Tensor) -> Tensor:
        maximum = x.amax((2, 3), keepdim=True) if self.size == 1 else self.mp(x)  # ONNX has only the former
        return torch.cat([maximum, self.ap(x)], 1)


class Flatten(nn.Module):
    """(N, ...) to (N, features), or all to one dimension with `full`; as ``fastai.layers``."""

    def __init__(self, full: bool = False):
        super().__init__()
        self.full = full

    def forward(self, x: Tensor) -> Tensor:
        return x.view(-1) if self.full else x.view(x.size(0), -1)


class TimmBody(nn.Module):
    """timm's network without its classifier; as ``fastai.vision.learner``.

    With `needs_pool` it gives the features before pooling, (N, C, H, W), else after it, (N, C).
    """

    def __init__(self, model: nn.Module, needs_pool: bool):
        super().__init__()
        self.needs_pool = needs_pool
        self.model = model

    def forward(self, x: Tensor) -> Tensor:
        return self.model.forward_features(x) if self.needs_pool else self.model(x)


# What a head may consist of: by the name of the class, what makes another one like it.
SETTINGS: dict[str, tuple[type[nn.Module], tuple[str, ...]]] = {
    "AdaptiveAvgPool2d": (nn.AdaptiveAvgPool2d, ("output_size",)),
    "AdaptiveMaxPool2d": (nn.AdaptiveMaxPool2d, ("output_size",)),
    "AdaptiveConcatPool2d": (AdaptiveConcatPool2d, ("size",)),
    "Flatten": (Flatten, ("full",)),
    "BatchNorm1d": (nn.BatchNorm1d, ("num_features", "eps", "momentum", "affine", "track_running_stats")),
    "LayerNorm": (nn.LayerNorm, ("normalized_shape", "eps", "elementwise_affine")),
    "Dropout": (nn.Dropout, ("p",)),
    "Linear": (nn.Linear, ("in_features", "out_features", "bias")),
    "ReLU": (nn.ReLU, ()),
    "GELU": (nn.GELU, ("approximate",)),
    "SiLU": (nn.SiLU, ()),
    "Identity": (nn.Identity, ()),
}
LARGEST_SETTING = 2**17  # five times the widest of torchvision's; a batch norm has its memory before it has its weights
SEQUENCES = ("Sequential", "LinBnDrop")  # fastai's LinBnDrop is a sequence and nothing more


def describe(module: nn.Module) -> dict[str, Any]:
    """What `build` needs to make a module of the same layers; values that JSON holds.

    Raises
    ------
    ModelError
        A layer that heads do not consist of.
    """
    kind = type(module).__name__
    if kind in SEQUENCES:
        children = module._modules  # `named_children` leaves out a layer that comes twice
        if list(children) == [str(index) for index in range(len(children))]:
            return {"layer": "Sequential", "layers": [describe(child) for child in children.values()]}
    if kind not in SETTINGS:
        raise ModelError(f"a head with the layer {kind} has no description")
    described: dict[str, Any] = {"layer": kind}
    for name in SETTINGS[kind][1]:
        value = getattr(module, name, False)  # torch's own Flatten has no `full`
        described[name] = value is not None if name == "bias" else list(value) if isinstance(value, tuple) else value
    return described


def build(description: dict[str, Any]) -> nn.Module:
    """The module that `describe` described, with fresh weights.

    Raises
    ------
    ModelError
        An unknown layer, or settings that it does not have.
    """
    settings = dict(description)
    kind = settings.pop("layer", None)
    if kind == "Sequential":
        return nn.Sequential(*(build(layer) for layer in settings["layers"]))
    if not isinstance(kind, str) or kind not in SETTINGS or set(settings) != set(SETTINGS[kind][1]):
        raise ModelError(f"its description has an unknown layer {brief(kind)}: export the model again")
    sizes = [size for value in settings.values() for size in (value if isinstance(value, list) else [value])]
    if any(isinstance(size, int) and not 0 <= size <= LARGEST_SETTING for size in sizes):
        raise ModelError(f"its description has an impossible {kind}: export the model again")
    return SETTINGS[kind][0](**settings)
