"""What a source holds: its layout, classes, files and image sizes, before anything heavy is imported.

found = scan("photos/", valid_pct=0.2, seed=0)
found.classes, len(found.train), len(found.valid), found.side
"""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from data.classes import check_classes
from data.errors import DataError, ImageError
from data.folder import find_layout
from data.reader import read_size
from data.split import limit_samples, stratified_split

CIFAR10_MEAN, CIFAR10_STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)


class Sample(NamedTuple):
    """One labelled image: what `read_image` takes, and the name of its class."""

    source: Path | np.ndarray
    label: str


@dataclass
class Scan:
    """What a source holds.

    ``side`` is the median of the images' longer sides in pixels; ``stats`` the data set's own mean and
    deviation per channel, in [0, 1], where they are known; ``skipped`` the files left out, each with its
    reason; ``notices`` the lines a user should read.
    """

    source: str
    layout: str
    classes: list[str]
    train: list[Sample]
    valid: list[Sample]
    side: int
    stats: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    skipped: list[tuple[Path, str]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)


def scan(
    source: str | Path,
    *,
    valid_pct: float = 0.2,
    limit: int | None = None,
    seed: int = 42,
    data_dir: str | Path | None = None,
) -> Scan:
    """Look at `source`: a folder of images, or the name ``cifar10``.

    Parameters
    ----------
    source
        A folder (``train/`` with ``valid/``, ``val/``, ``validation/`` or ``test/``; ``train/`` alone; or one
        folder per class), or ``cifar10``.
    valid_pct
        Share of each class drawn for validation where the source has no split of its own.
    limit
        At most so many images per split, the classes in proportion.
    data_dir
        For ``cifar10``: where the archive or its unpacked batches already lie.

    Raises
    ------
    DataError
        With one line for the user, when the source cannot be trained on.
    """
    found = _scan_cifar10(data_dir) if str(source) == "cifar10" else _scan_folder(Path(source), valid_pct, seed)
    if limit is not None:
        found.train = limit_samples(found.train, limit, seed)
        found.valid = limit_samples(found.valid, limit, seed)
    return found


def _scan_cifar10(data_dir: str | Path | None) -> Scan:
    from data.cifar10 import load_cifar10

    arrays = load_cifar10(Path(data_dir) if data_dir else None)

    def samples(images: np.ndarray, labels: np.ndarray) -> list[Sample]:
        return [Sample(image, arrays.classes[label]) for image, label in zip(images, labels)]

    return Scan(
        source="cifar10",
        layout="CIFAR-10's own split",
        classes=list(arrays.classes),
        train=samples(arrays.train_images, arrays.train_labels),
        valid=samples(arrays.valid_images, arrays.valid_labels),
        side=arrays.train_images.shape[1],
        stats=(CIFAR10_MEAN, CIFAR10_STD),
    )


def _scan_folder(root: Path, valid_pct: float, seed: int) -> Scan:
    layout = find_layout(root)
    unreadable: list[tuple[Path, str]] = []
    sides: list[int] = []
    splits = {
        name: [sample for label, files in classes.items() for sample in _readable(label, files, sides, unreadable)]
        for name, classes in layout.splits.items()
    }
    train = splits["train"]
    if not train:
        path, reason = unreadable[0]
        raise DataError(f"{root}: none of its training images can be read, the first {path}: {reason}")
    notices = list(layout.notices)
    if unreadable:
        path, reason = unreadable[0]
        notices.append(f"{len(unreadable)} unreadable file(s) left out, the first {path}: {reason}")
    classes = sorted({sample.label for sample in train})
    sentence = layout.sentence
    valid = splits.get("valid")
    if valid is None:
        train, valid = stratified_split(train, valid_pct, seed)
        sentence += f"; no validation split, so {valid_pct:.0%} of each class drawn with seed {seed}"
    notices += check_classes(root, list(layout.splits["train"]), classes, valid)
    skipped = layout.skipped + unreadable
    return Scan(str(root), sentence, classes, train, valid, round(median(sides)), None, skipped, notices)


def _readable(label: str, files: Iterable[Path], sides: list[int], skipped: list[tuple[Path, str]]) -> list[Sample]:
    """The files whose header can be read; their longer sides and the other files go into the lists given."""

    def size_or_reason(path: Path) -> tuple[int, int] | str:
        try:
            return read_size(path)
        except ImageError as error:
            return str(error).removeprefix(f"{path}: ")

    samples = []
    with ThreadPoolExecutor() as threads:  # headers are small reads: waiting on the disk, not computing
        for path, size in zip(files, threads.map(size_or_reason, files)):
            if isinstance(size, str):
                skipped.append((path, size))
            else:
                sides.append(max(size))
                samples.append(Sample(path, label))
    return samples
