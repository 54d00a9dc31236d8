"""``--aug device``: the training images are augmented where the network is, not where they are read.

data.loaders(..., **loader_augmentation(settings))
learn.add_cbs(device_augmentation(settings))
"""

from typing import Any

from callbacks.augment import Augmentation, DeviceAugment

DEVICE = "device"  # the value of --aug
LIGHT = 0.2  # of fastai's aug_transforms at a strength of 1; their zoom does not grow with it
CIFAR_PADDING = 4  # px


def loader_augmentation(settings: dict[str, Any]) -> dict[str, Any]:
    """What `data.loaders` is to do: the way and the strength, or nothing where the device does it."""
    if settings["aug"] == DEVICE:  # fastai's way without augmentation: bytes to floats, and normalised
        return {"aug": "fastai", "aug_mult": 0}
    return {"aug": settings["aug"], "aug_mult": settings["aug_mult"]}


def device_augmentation(settings: dict[str, Any]) -> list[DeviceAugment]:
    """The callback for the settled settings; none where the loaders augment, or nothing does."""
    if settings["aug"] != DEVICE or settings["aug_mult"] == 0:
        return []
    if settings["source"] == "cifar10":
        return [DeviceAugment(Augmentation(zoom=1, light=0, flip=settings["flip"], padding=CIFAR_PADDING))]
    return [DeviceAugment(Augmentation(light=LIGHT * settings["aug_mult"], flip=settings["flip"]))]
