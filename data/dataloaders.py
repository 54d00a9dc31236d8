"""From a scan to fastai ``DataLoaders``: what is read, transformed, shuffled and batched.

    loaders = data.loaders(scan, spec, batch_size=64, workers=2, device="cpu")

`spec` is any object with ``image_size`` (pixels), ``mean`` and ``std`` (per channel, in [0, 1]).
"""

import os
from pathlib import Path
from typing import Any

from fastai.data.core import DataLoaders, Datasets
from fastai.data.transforms import Categorize, IntToFloatTensor, Normalize, ToTensor
from fastai.vision.augment import Resize

from data.augmentation import LIGHT, SHIFTS, batch_augmentation, choose_augmentation, crop_of, may_flip, shifts_of
from data.balance import class_weights
from data.balanced_loader import BalancedDL
from data.errors import DataError
from data.normalize import NormalizeBytes
from data.pixel_loader import BalancedPixelDL, PixelDL
from data.pixels import SMALL_SIDE, Pixels
from data.scan import Scan
from data.tensor_loader import BalancedTensorDL, TensorDL
from data.transforms import OpenImage, label_of

MAX_WORKERS = 8


def loaders(
    scan: Scan,
    spec: Any,
    *,
    batch_size: int,
    workers: int | None = None,
    device: Any = "cpu",
    aug: str = "auto",
    aug_mult: float = 1.0,
    flip: bool | None = None,
    balanced: bool = False,
    pixels: Pixels | None = None,
) -> DataLoaders:
    """Build the training and validation loaders.

    Parameters
    ----------
    batch_size
        Images per training batch; more than there are is an error of the caller. The last, partial
        training batch is dropped, since batch normalisation cannot use a batch of one.
    workers
        Threads that make batches, or processes where all images are small; None chooses (`default_workers`).
    aug, aug_mult
        Way and strength of the augmentation, see `data.augmentation`; strength 0 turns it off.
    flip
        Mirror half of the training images; None for wherever it does no harm (`data.augmentation.may_flip`).
    balanced
        Draw the images of an epoch, with replacement, so that each class is seen equally often.
    pixels
        The cache that `data.scan` was given; None to decode in every epoch.

    Returns
    -------
    DataLoaders
        Batches of images, float32 (N, 3, size, size), normalised, and labels, int64 (N,), an index into
        ``scan.classes``.
    """
    if not 2 <= batch_size <= len(scan.train):
        raise DataError(f"--batch-size {batch_size}: between 2 and the {len(scan.train)} training images")
    way = choose_augmentation(aug, scan)
    flips = may_flip(scan.classes) if flip is None else flip
    samples = scan.train + scan.valid
    datasets = Datasets(
        samples,
        tfms=[[OpenImage(spec.image_size, scan.truncated)], [label_of, Categorize(vocab=scan.classes, sort=False)]],
        splits=[range(len(scan.train)), range(len(scan.train), len(samples))],
    )
    options: dict[str, Any] = {"dl_kwargs": _batch_transforms(spec, way, aug_mult, flips)}
    workers = default_workers(scan) if workers is None else workers
    if way in SHIFTS:
        shifts, dl_type = shifts_of(way, aug_mult, flips), BalancedTensorDL if balanced else TensorDL
        options |= {"dl_type": dl_type, "augment": shifts, "pixels": _fitting(pixels, scan, spec)}
    elif scan.side <= SMALL_SIDE and way != "crop":  # what is not worth being kept
        options |= {"num_workers": workers, "dl_type": BalancedDL if balanced else None}
    else:
        crop, dl_type = crop_of(way, aug_mult, flips), BalancedPixelDL if balanced else PixelDL
        options |= {"threads": workers, "dl_type": dl_type, "crop": crop, "pixels": _fitting(pixels, scan, spec)}
    if balanced:
        weights = class_weights(scan)
        options["dl_kwargs"][0]["wgts"] = [weights[sample.label] for sample in scan.train]
    made = datasets.dataloaders(bs=batch_size, after_item=[Resize(spec.image_size), ToTensor()], **options)
    return made.to(device)  # the transforms' tensors too, which `dataloaders(device=...)` leaves behind


def _batch_transforms(spec: Any, way: str, mult: float, flips: bool) -> list[dict[str, list]]:
    """``after_batch`` of the training and of the validation loader."""
    if way == "crop" or way in SHIFTS:
        light = LIGHT * mult if way == "crop" else 0.0
        made = [NormalizeBytes.of(spec.mean, spec.std, light) for light in (light, 0.0)]
        return [{"after_batch": [step]} for step in made]
    to_float, normalize = IntToFloatTensor(), Normalize.from_stats(spec.mean, spec.std, cuda=False)
    augmentation = batch_augmentation(mult, flips)
    # fastai's own transforms would resample validation images too, each at its place.
    return [{"after_batch": [to_float, *augmentation, normalize]}, {"after_batch": [to_float, normalize]}]


def _fitting(pixels: Pixels | None, scan: Scan, spec: Any) -> Pixels:
    """`pixels` for this size, with what is known of the files now."""
    if pixels is None or pixels.size != spec.image_size:
        pixels = Pixels(spec.image_size, None if pixels is None else pixels.store)
    pixels.truncated = scan.truncated
    pixels.trained = {sample.source for sample in scan.train if isinstance(sample.source, Path)}
    return pixels


def default_workers(scan: Scan) -> int:
    """None for small images, which one process reads faster than it hands them over; else one a core."""
    if scan.side <= SMALL_SIDE:
        return 0
    return min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, MAX_WORKERS)
