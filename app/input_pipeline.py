"""The way of the images, as a command sees it: the cache of decoded ones, and what is said of it.

pixels = open_pixels(args)                  # for data.scan, which decodes every new file, and data.loaders
settle(settings, scan)                      # settings["aug"], ["flip"] and ["cache"] are settled and said
say_cache(pixels)
"""

import atexit
from argparse import Namespace
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import models
from app import report
from app.errors import UsageError
from data.pixel_store import PixelStore
from data.pixels import SMALL_SIDE, Pixels
from data.scan import Scan
from models.spec import AUTO_LARGE_SIZE

WAYS = {
    "crop": "random resized crops",
    "fastai": "fastai's aug_transforms",
    "device": "on the device, without rotation and warp",
    "pad": "shifted, black coming in",
    "airbench94": "shifted, the border reflected",
    "airbench95": "shifted, the border reflected",
    "airbench96": "shifted, the border reflected, with a square cut out",
}


def open_pixels(args: Namespace) -> Pixels | None:
    """The cache for the size at which photos are going to be trained; None with ``--cache off`` and for CIFAR-10.

    Raises
    ------
    UsageError
        ``--cache`` names a file, or a folder within the data set.
    """
    if args.cache == "off" or (args.csv is None and args.source == "cifar10"):
        return None
    folder = None if args.cache == "auto" else Path(args.cache).resolve()
    if folder is not None:
        _check(folder, args.source)
    # Before the files are looked at, since that decodes them: only small images may change the size after all.
    with suppress(models.ModelError):  # it is raised again, in its turn
        size = args.img_size or _usual_size(args)
        store = PixelStore(folder)
        atexit.register(store.close)
        return Pixels(size, store)
    return None


def _usual_size(args: Namespace) -> int:
    """The size for photos; that of the usual network is known without torch, which takes seconds to import."""
    if args.arch == "auto":
        return AUTO_LARGE_SIZE
    photos = SimpleNamespace(side=SMALL_SIDE + 1, classes=(), stats=None)
    return models.spec(args.arch, photos, pretrained=args.pretrained is not False).image_size


def settle(settings: dict[str, Any], scan: Scan) -> None:
    """Replace what was left open in `settings` by what is done, and say it."""
    from data.augmentation import choose_augmentation, may_flip

    if settings["aug"] != "device":
        settings["aug"] = choose_augmentation(settings["aug"], scan)
    why = ""
    if settings["flip"] is None:
        settings["flip"] = may_flip(scan.classes)
        why = "" if settings["flip"] else ", since every class is a single letter or digit"
    if settings["cache"] not in ("auto", "off"):
        settings["cache"] = str(Path(settings["cache"]).resolve())
    strength = f"strength {settings['aug_mult']:g}" if settings["aug_mult"] else "off"
    way = WAYS[settings["aug"]]
    report.say(f"augmentation: {way}, {strength}, {'with' if settings['flip'] else 'without'} flips{why}")


def say_cache(pixels: Pixels | None) -> None:
    """Say it when images found no room: they are decoded in every epoch."""
    if pixels is not None and pixels.store is not None and pixels.store.full:
        report.warn(f"the cache is full ({pixels.store.full}): other images are decoded in every epoch")


def _check(folder: Path, source: str | None) -> None:
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--cache {folder} is no folder: give one, or 'auto' or 'off'")
    if source is not None and Path(source).is_dir() and folder.is_relative_to(Path(source).resolve()):
        raise UsageError(f"--cache {folder} lies in the data set {source}, where nothing is written: give another")
