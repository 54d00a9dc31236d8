"""What a network makes of some images, noted while it runs over all of them: no pass of its own.

with noted(learn.model, wanted) as found:   # wanted: bool (N,), which of the N images that are going to come
    learn.get_preds(...)
found.features, found.images                # (n, F), (n, 3, SIDE, SIDE)
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.linear_head import LinearHead

SIDE = 48  # px of a small image


class Noted:
    """Of the images that were wanted: what the last layer was given, and the images themselves, small."""

    def __init__(self, wanted: Tensor):
        self._wanted, self._seen, self._rows = wanted, 0, slice(0)
        self._images: list[Tensor] = []
        self._features: list[Tensor] = []

    def note_images(self, network: nn.Module, inputs: tuple[Any, ...]) -> None:
        """A hook before the forward of the network."""
        images = inputs[0].detach().as_subclass(Tensor)
        rows = self._wanted[self._seen : self._seen + len(images)].nonzero().flatten()
        self._seen, self._rows = self._seen + len(images), rows.to(images.device)
        if len(rows):
            self._images.append(F.interpolate(images[self._rows].float(), (SIDE, SIDE), mode="area").cpu())

    def note_features(self, layer: nn.Module, inputs: tuple[Any, ...]) -> None:
        """A hook before the forward of the head."""
        if len(self._rows):
            self._features.append(inputs[0].detach().as_subclass(Tensor)[self._rows].float().cpu())

    @property
    def images(self) -> Tensor:
        """As the network got them, normalised: float32 (n, 3, SIDE, SIDE)."""
        return torch.cat(self._images)

    @property
    def features(self) -> Tensor | None:
        """float32 (n, F); None where the last layer is not given one row of finite numbers for each image."""
        wanted = int(self._wanted.sum())
        if not self._features or any(part.ndim != 2 for part in self._features):
            return None
        features = torch.cat(self._features)
        return features if len(features) == wanted and features.isfinite().all() else None


@contextmanager
def noted(model: nn.Module, wanted: Tensor) -> Iterator[Noted]:
    """Watch the forward passes of `model`, which are to be of ``len(wanted)`` images in their order."""
    found = Noted(wanted)
    hooks = [model.register_forward_pre_hook(found.note_images)]
    if any(isinstance(module, nn.Linear) for module in model.modules()):
        hooks.append(LinearHead.of(model).entry.register_forward_pre_hook(found.note_features))
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()
