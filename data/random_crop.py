"""Random resized crops of bytes: the augmentation of Szegedy et al. 2015, section 6, and a flip.

    box, flip = draw(rng.random(DRAWS), width, height, Crop(min_scale=0.5))
    crop_into(place, pixels, box, flip)         # place: uint8 (224, 224, 3)

torch's resampling of bytes releases Python's lock and stays in its thread, so threads do it side by side.
"""

import math
from typing import NamedTuple

import numpy as np
import torch

DRAWS = 5  # random numbers in [0, 1) an image

Box = tuple[int, int, int, int]  # left, top, width, height


class Crop(NamedTuple):
    """How images are cut."""

    min_scale: float
    """The least share of the area."""

    flips: bool = True
    """Whether half of the images are mirrored."""

    ratios: tuple[float, float] = (3 / 4, 4 / 3)
    """Bounds of width to height; torchvision's and fastai's."""


def draw(numbers: np.ndarray, width: int, height: int, crop: Crop) -> tuple[Box, bool]:
    """Turn `DRAWS` uniform random numbers into a box within an image, and whether to mirror it.

    The box has the area that was drawn, or as much of it as its ratio allows: an image that is very wide is
    not squeezed.
    """
    area, ratio, left, top, mirror = numbers
    low, high = (math.log(bound) for bound in crop.ratios)
    ratio = math.exp(low + (high - low) * ratio)
    area = (crop.min_scale + (1 - crop.min_scale) * area) * width * height
    box_width = min(math.sqrt(area * ratio), width, height * ratio)
    across, down = (max(1, round(side)) for side in (box_width, box_width / ratio))
    box = (int(left * (width - across + 1)), int(top * (height - down + 1)), across, down)
    return box, crop.flips and bool(mirror < 0.5)


def crop_into(place: torch.Tensor, pixels: np.ndarray, box: Box, flip: bool) -> None:
    """Cut `box` out of `pixels`, uint8 (height, width, 3), and resize it, averaging, into `place`.

    Parameters
    ----------
    place
        uint8 (size, size, 3); written to.
    """
    left, top, width, height = box
    cut = torch.from_numpy(pixels[top : top + height, left : left + width].copy())
    source, target = cut.permute(2, 0, 1)[None], place.permute(2, 0, 1)[None]
    # What F.interpolate(..., antialias=True) calls, but for `out`: its result would lie channels first, to be copied.
    torch.ops.aten._upsample_bilinear2d_aa.out(source, list(place.shape[:2]), False, None, None, out=target)
    if flip:
        place.copy_(place.flip(1))
