"""From a scan to fastai ``DataLoaders``: what is read, transformed, shuffled and batched.

    loaders = data.loaders(scan, spec, batch_size=64, workers=2, device="cpu")

`spec` is any object with ``image_size`` (pixels), ``mean`` and ``std`` (per channel, in [0, 1]).
"""

import os
from typing import Any

from fastai.callback.data import WeightedDL
from fastai.data.core import DataLoaders, Datasets
from fastai.data.transforms import Categorize, IntToFloatTensor, Normalize, ToTensor
from fastai.vision.augment import Flip, Resize, aug_transforms

from data.balance import class_weights
from data.errors import DataError
from data.scan import Scan
from data.transforms import OpenImage, PadCrop, label_of

SMALL_SIDE = 64  # px; up to here decoding is cheaper than handing images between processes
MAX_WORKERS = 8


def loaders(
    scan: Scan,
    spec: Any,
    *,
    batch_size: int,
    workers: int | None = None,
    device: Any = "cpu",
    aug_mult: float = 1.0,
    balanced: bool = False,
) -> DataLoaders:
    """Build the training and validation loaders.

    Parameters
    ----------
    batch_size
        Images per training batch; more than there are is an error of the caller. The last, partial
        training batch is dropped, since batch normalisation cannot use a batch of one.
    workers
        Processes that decode; None chooses (`default_workers`).
    aug_mult
        Strength of the augmentation, as ``aug_transforms(mult=...)``; 0 turns it off.
    balanced
        Draw the images of an epoch, with replacement, so that each class is seen equally often.

    Returns
    -------
    DataLoaders
        Batches of images, float32 (N, 3, size, size), normalised, and labels, int64 (N,), an index into
        ``scan.classes``.
    """
    if not 2 <= batch_size <= len(scan.train):
        raise DataError(f"--batch-size {batch_size}: between 2 and the {len(scan.train)} training images")
    samples = scan.train + scan.valid
    datasets = Datasets(
        samples,
        tfms=[[OpenImage(spec.image_size, scan.truncated)], [label_of, Categorize(vocab=scan.classes, sort=False)]],
        splits=[range(len(scan.train)), range(len(scan.train), len(samples))],
    )
    to_float, normalize = IntToFloatTensor(), Normalize.from_stats(spec.mean, spec.std, cuda=False)
    for_train: dict[str, Any] = {"after_batch": [to_float, *augmentation(scan, aug_mult), normalize]}
    for_valid = {"after_batch": [to_float, normalize]}  # fastai's own would resample each image at its place
    if balanced:
        weights = class_weights(scan)
        for_train["wgts"] = [weights[sample.label] for sample in scan.train]
    made = datasets.dataloaders(
        bs=batch_size,
        num_workers=default_workers(scan) if workers is None else workers,
        dl_type=WeightedDL if balanced else None,
        after_item=[Resize(spec.image_size), ToTensor()],
        dl_kwargs=[for_train, for_valid],
    )
    return made.to(device)  # the transforms' tensors too, which `dataloaders(device=...)` leaves behind


def augmentation(scan: Scan, mult: float) -> list:
    """Batch transforms for training: pad-and-crop with flips on CIFAR-10, else ``aug_transforms(mult=...)``."""
    if mult == 0:
        return []
    if scan.source == "cifar10":
        return [PadCrop(padding=4), Flip()]
    return list(aug_transforms(mult=mult))


def default_workers(scan: Scan) -> int:
    """None for small images, which one process reads faster than it hands them over; else one a core."""
    if scan.side <= SMALL_SIDE:
        return 0
    return min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, MAX_WORKERS)
