"""What is done to training images: which way, how strongly, and whether they may be mirrored.

way = choose_augmentation("auto", scan)     # "crop", "fastai" or "pad"
may_flip(scan.classes)
"""

from collections.abc import Sequence
from typing import Any

from fastai.vision.augment import Flip, aug_transforms

from data.pixels import SMALL_SIDE
from data.random_crop import Crop
from data.scan import Scan
from data.transforms import PadCrop

# At strength 1: crops of half the area at least, and fastai's own change of light.
LEAST_AREA, LIGHT = 0.5, 0.2
SMALLEST_SCALE = 0.08  # of the area, at any strength: torchvision's and fastai's


def choose_augmentation(asked: str, scan: Scan) -> str:
    """``crop`` (random resized crops), ``fastai`` (``aug_transforms``) or ``pad`` (CIFAR-10's pad-and-crop).

    `asked` is one of the first two, or ``auto``: crops, but images up to 64 pixels, which are not cached and of which a
    crop would leave little, get fastai's.
    """
    if scan.source == "cifar10":
        return "pad"
    if asked != "auto":
        return asked
    return "fastai" if scan.side <= SMALL_SIDE else "crop"


def may_flip(classes: Sequence[str]) -> bool:
    """False where every class is named by a single letter or digit: characters mirrored are others, or none."""
    return not all(len(name) == 1 and name.isalnum() for name in classes)


def batch_augmentation(way: str, mult: float, flips: bool) -> list[Any]:
    """The batch transforms of ``fastai`` and ``pad``, on floats in [0, 1]; `mult` as of ``aug_transforms``."""
    if mult == 0:
        return []
    if way == "pad":
        return [PadCrop(padding=4), *([Flip()] if flips else [])]
    return list(aug_transforms(mult=mult, do_flip=flips))


def crop_of(way: str, mult: float, flips: bool) -> Crop | None:
    """How training images are cut, None for as in validation.

    With ``fastai`` it is what its ``Resize`` does: a square of the shorter side, anywhere along the longer one.
    """
    if way == "fastai":
        return Crop(1.0, flips=False, ratios=(1.0, 1.0))
    return Crop(max(SMALLEST_SCALE, 1 - mult * (1 - LEAST_AREA)), flips) if mult else None
