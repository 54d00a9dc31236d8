"""What is done to training images: which way, how strongly, and whether they may be mirrored.

way = choose_augmentation("auto", scan)     # "crop", "fastai", "pad", ...
may_flip(scan.classes)
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fastai.vision.augment import aug_transforms

from data.errors import DataError
from data.pixels import SMALL_SIDE
from data.random_crop import Crop
from data.scan import Scan
from data.shifts import Shifts

# At strength 1: crops of half the area at least, and fastai's own change of light.
LEAST_AREA, LIGHT = 0.5, 0.2
SMALLEST_SCALE = 0.08  # of the area, at any strength: torchvision's and fastai's
# Of small images that are kept in memory, at strength 1: He et al.'s for CIFAR-10, and those of Jordan's networks.
SHIFTS = {
    "pad": Shifts(padding=4),
    "airbench94": Shifts(padding=2, flips="alternating", reflect=True),
    "airbench95": Shifts(padding=4, flips="alternating", reflect=True),
    "airbench96": Shifts(padding=4, flips="alternating", reflect=True, cutout=12),
}


def choose_augmentation(asked: str, scan: Scan) -> str:
    """``crop`` (random resized crops), ``fastai`` (``aug_transforms``), or one of `SHIFTS`, for small images.

    `asked` is one of them, or ``auto``: crops, but images up to 64 pixels, which are not cached and of which a
    crop would leave little, get fastai's, and CIFAR-10 its usual pad-and-crop, whatever else is asked.

    Raises
    ------
    DataError
        Shifts are for images up to 64 pixels.
    """
    if asked in SHIFTS:
        if scan.side > SMALL_SIDE:
            origin = " (of --recipe speed)" if asked.startswith("airbench") else ""
            limit = f"is for images up to {SMALL_SIDE} px, not {scan.side}"
            raise DataError(f"--aug {asked}{origin} {limit}: use --aug crop")
        return asked
    if scan.source == "cifar10":
        return "pad"
    if asked != "auto":
        return asked
    return "fastai" if scan.side <= SMALL_SIDE else "crop"


def may_flip(classes: Sequence[str]) -> bool:
    """False where every class is named by a single letter or digit: characters mirrored are others, or none."""
    return not all(len(name) == 1 and name.isalnum() for name in classes)


def batch_augmentation(mult: float, flips: bool) -> list[Any]:
    """fastai's batch transforms, on floats in [0, 1]; `mult` as of ``aug_transforms``."""
    return list(aug_transforms(mult=mult, do_flip=flips)) if mult else []


def shifts_of(way: str, mult: float, flips: bool) -> Shifts | None:
    """How training images are shifted and mirrored, None for not at all."""
    if mult == 0:
        return None
    shifts = SHIFTS[way]
    return replace(shifts, padding=round(shifts.padding * mult), flips=shifts.flips if flips else "none")


def crop_of(way: str, mult: float, flips: bool) -> Crop | None:
    """How training images are cut, None for as in validation.

    With ``fastai`` it is what its ``Resize`` does: a square of the shorter side, anywhere along the longer one.
    """
    if way == "fastai":
        return Crop(1.0, flips=False, ratios=(1.0, 1.0))
    return Crop(max(SMALLEST_SCALE, 1 - mult * (1 - LEAST_AREA)), flips) if mult else None
