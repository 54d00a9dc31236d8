"""Augment whole batches on the device that trains, by two products of matrices, in one graph.

learn.fit_one_cycle(3, cbs=DeviceAugment(Augmentation(zoom=1.1, light=0.2)))

Without it fastai's transforms of batches run where the loader puts them. On XLA that is the CPU, since most of
them have no XLA form: there each would go back to the host.
"""

import math
from dataclasses import dataclass

import torch
from fastai.data.transforms import IntToFloatTensor, Normalize
from fasttransform import Pipeline

from callbacks.scoped import ScopedCallback


@dataclass(frozen=True)
class Augmentation:
    """How strongly each image of a batch is changed, at random and for itself."""

    zoom: float = 1.1
    """Largest enlargement about a random point; 1 for none."""

    flip: bool = True
    """Mirror half of the images."""

    light: float = 0.2
    """Largest change of brightness and contrast, fastai's ``max_lighting``; 0 for none, below 1."""

    padding: int = 0
    """Pixels by which an image is moved at most, along each side, with black moving in (He et al. 2016)."""

    share: float = 0.75
    """Images that are zoomed, and those whose light changes; fastai's ``p_affine`` and ``p_lighting``."""


class DeviceAugment(ScopedCallback):
    """Training batches are uploaded as they are read, in uint8, and made floats, augmented and normalised there.

    The training loader's own transforms of batches rest during a fit, and its ``Normalize`` is used; so the
    Learner's loaders, and what is exported of them, stay the same.

    Raises
    ------
    ValueError
        When a fit begins with other batch transforms than ``IntToFloatTensor`` and ``Normalize``.
    """

    # After XLA (-9) has brought the batch and before fastai's MixUp (0), which mixes augmented images.
    order, run_valid = -8, False

    def __init__(self, augmentation: Augmentation | None = None):
        self.augmentation = augmentation or Augmentation()
        self._loader, self._transforms, self._normalize, self._stats = None, None, None, None

    def enter(self) -> None:
        steps = list(getattr(self.learn.dls.train.after_batch, "fs", ()))
        other = [type(step).__name__ for step in steps if not isinstance(step, (IntToFloatTensor, Normalize))]
        if other:
            raise ValueError(f"DeviceAugment would leave out {', '.join(other)}: make the loaders without them")
        self._normalize = next((step for step in steps if isinstance(step, Normalize)), None)
        self._stats = None

    def before_train(self):  # not for validate, which may be given the training images as they are
        self._loader = self.learn.dls.train
        self._transforms, self._loader.after_batch = self._loader.after_batch, Pipeline([])

    def before_batch(self):
        images = self.learn.xb[0].as_subclass(torch.Tensor)
        images = augment(images.float() / 255 if images.dtype == torch.uint8 else images, self.augmentation)
        if self._normalize is not None:
            if self._stats is None:
                stats = self._normalize.mean, self._normalize.std
                self._stats = [value.as_subclass(torch.Tensor).to(images.device) for value in stats]
            mean, std = self._stats
            images = (images - mean) / std
        self.learn.xb = (images, *self.learn.xb[1:])

    def after_train(self):
        self._give_back()

    def leave(self) -> None:
        self._give_back()  # after a training that was broken off

    def _give_back(self) -> None:
        if self._loader is not None:
            self._loader.after_batch, self._loader = self._transforms, None


def augment(images: torch.Tensor, how: Augmentation, random: torch.Tensor | None = None) -> torch.Tensor:
    """Return `images`, float32 (N, C, H, W) in [0, 1], each augmented for itself; shape and dtype stay.

    Zoom, crop and flip are linear along rows and along columns. So two matrices an image, with the weights of its rows
    and of its columns in the result, do what bilinear ``grid_sample`` does, which XLA has not.

    Parameters
    ----------
    random
        Numbers in [0, 1), float32 (9, N), that decide everything; None draws them on the device.
    """
    count, _, height, width = images.shape
    if random is None:
        random = torch.rand(9, count, device=images.device)
    zoom = 1 + (how.zoom - 1) * random[1]
    scale = torch.where(random[0] < how.share, 1 / zoom, torch.ones_like(zoom))
    rows = _positions(height, scale, random[2], random[3], how.padding)
    columns = _positions(width, scale, random[4], random[5], how.padding)
    if how.flip:
        columns = torch.where(random[6, :, None] < 0.5, columns.flip(1), columns)
    down, across = _weights(rows, height, how.padding), _weights(columns, width, how.padding)
    images = torch.einsum("noh,nchw,npw->ncop", down, images, across)
    return _light(images, how, random[7], random[8]) if how.light else images


def _positions(size: int, scale: torch.Tensor, place: torch.Tensor, shift: torch.Tensor, padding: int) -> torch.Tensor:
    """Where along a side of `size` pixels each pixel of the result lies, (N, size)."""
    start = (1 - scale) * place * (size - 1)
    moved = torch.floor(shift * (2 * padding + 1)) - padding
    steps = torch.arange(size, device=scale.device, dtype=torch.float32)
    return (start + moved)[:, None] + scale[:, None] * steps


def _weights(positions: torch.Tensor, size: int, padding: int) -> torch.Tensor:
    """Bilinear weights, (N, size of the result, `size`); outside the image all are 0, which is black."""
    if not padding:
        positions = positions.clamp(0, size - 1)  # what rounding adds
    pixels = torch.arange(size, device=positions.device, dtype=torch.float32)
    return (1 - (positions[..., None] - pixels).abs()).clamp(min=0)


def _light(images: torch.Tensor, how: Augmentation, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Brightness and contrast as fastai changes them, by a sum and a product of logits."""
    # One number says whether and how much: those below the share, scaled to -1..1.
    up, apart = (
        torch.where(value < how.share, 2 * value / how.share - 1, torch.zeros_like(value))[:, None, None, None]
        for value in (first, second)
    )
    logits = torch.logit(images, eps=1e-7) + torch.logit(0.5 * (1 + how.light * up))
    return torch.sigmoid(logits * torch.exp(-math.log(1 - how.light) * apart))
