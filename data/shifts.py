"""What training does to batches of small images, as bytes: mirrored, shifted, with a square covered.

    augment = Shifts(padding=4, flips="random")
    images = augment(images, generator)         # uint8 (N, height, width, 3)

On any device. Shapes depend on nothing but shapes, so that a compiler sees one graph; what is random is drawn on the
CPU, so that one seed means the same on every device.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

HALF = 0.5
GREY = 128  # of a covered square: where it is, a normalised image is about zero


@dataclass(frozen=True)
class Shifts:
    """The augmentation, and its strength."""

    padding: int = 4
    """Pixels by which an image is moved at most, either way; 4 at 32 px is that of He et al. 2016, section 4.2."""

    flips: Literal["none", "random", "alternating"] = "random"
    """Mirrored by chance; or by chance in the first pass and then every other time, so that two passes show every image
    both ways (Jordan 2024, arXiv 2404.00498, section 3.6)."""

    reflect: bool = False
    """What comes in at the border is the image reflected, not black."""

    cutout: int = 0
    """Side in pixels of a square that is covered (DeVries and Taylor 2017, arXiv 1708.04552); 0 for none."""

    def first_flips(self, count: int, seed: int) -> Tensor | None:
        """Which of `count` images are mirrored in the first pass, bool (count,); None where flips do not alternate."""
        if self.flips != "alternating":
            return None
        return torch.rand(count, generator=torch.Generator().manual_seed(seed)) < HALF

    def __call__(self, images: Tensor, generator: torch.Generator, flipped: Tensor | None = None) -> Tensor:
        """Augment a batch.

        Parameters
        ----------
        images
            uint8 (N, height, width, C).
        generator
            On the CPU.
        flipped
            Which are mirrored where flips alternate, bool (N,).
        """
        count = len(images)
        if self.flips == "random":
            flipped = torch.rand(count, generator=generator) < HALF
        if flipped is not None:
            images = mirrored(images, flipped)
        if self.padding:
            shifts = torch.randint(-self.padding, self.padding + 1, (count, 2), generator=generator)
            images = shifted(images, shifts, reflect=self.reflect)
        if self.cutout:
            sides = torch.tensor(images.shape[1:3]) - self.cutout + 1
            corners = (torch.rand(count, 2, generator=generator) * sides).long()
            images = covered(images, corners, self.cutout)
        return images


def mirrored(images: Tensor, mask: Tensor) -> Tensor:
    """Mirror those images, uint8 (N, height, width, C), for which `mask`, bool (N,), is true."""
    return torch.where(_like(images, mask)[:, None, None, None], images.flip(2), images)


def shifted(images: Tensor, shifts: Tensor, *, reflect: bool = False) -> Tensor:
    """Move each image, uint8 (N, height, width, C), by as many pixels down and to the right as `shifts`, (N, 2), says.

    What comes in is black, or with `reflect` the image in the mirror of its border; shifts are smaller than it then.
    """
    shifts = _like(images, shifts)
    places, inside = [], []
    for axis in (0, 1):
        side = images.shape[1 + axis]
        place = torch.arange(side, device=images.device) - shifts[:, axis, None]
        inside.append((place >= 0) & (place < side))
        places.append(side - 1 - (side - 1 - place.abs()).abs() if reflect else place.clamp(0, side - 1))
    index = torch.arange(len(images), device=images.device)[:, None, None]
    moved = images[index, places[0][:, :, None], places[1][:, None, :]]
    return moved if reflect else moved * _box(inside)


def covered(images: Tensor, corners: Tensor, size: int) -> Tensor:
    """Cover a square of each image in grey, its upper left corner at `corners`, int64 (N, 2), down and to the right."""
    corners, inside = _like(images, corners), []
    for axis in (0, 1):
        place = torch.arange(images.shape[1 + axis], device=images.device) - corners[:, axis, None]
        inside.append((place >= 0) & (place < size))
    return images.masked_fill(_box(inside), GREY)


def _box(inside: list[Tensor]) -> Tensor:
    """From the rows and the columns that belong to it, bool (N, height) and (N, width), to (N, height, width, 1)."""
    return (inside[0][:, :, None] & inside[1][:, None, :])[..., None]


def _like(images: Tensor, values: Tensor) -> Tensor:
    return values.to(images.device, non_blocking=True)
