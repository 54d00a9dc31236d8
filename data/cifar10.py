"""CIFAR-10 as arrays, every file checked.

    from data.cifar10 import load_cifar10
    cifar = load_cifar10()                      # or load_cifar10(Path("my-cifar"))
    cifar.train_images.shape                    # (50000, 32, 32, 3)

Files are judged by their contents alone (shapes, labels, images per class), so a repacked data set
loads too; every pickle, official or not, goes through `data.safe_pickle`.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from data.cifar10_files import BATCHES, FILES, META, find_source, read_files
from data.errors import DataError
from data.safe_pickle import load_pickle

BATCH_ROWS = 10_000
TRAIN_ROWS = 5 * BATCH_ROWS
CLASSES = 10


@dataclass(frozen=True, eq=False)
class Cifar10:
    """The whole data set: images are RGB, height x width x channel; labels index `classes`."""

    train_images: np.ndarray  # uint8 (50000, 32, 32, 3)
    train_labels: np.ndarray  # int64 (50000,)
    valid_images: np.ndarray  # uint8 (10000, 32, 32, 3)
    valid_labels: np.ndarray  # int64 (10000,)
    classes: list[str]


def load_cifar10(data_dir: Path | None = None) -> Cifar10:
    """Load CIFAR-10 (Krizhevsky, "Learning Multiple Layers of Features", 2009) and check it.

    Parameters
    ----------
    data_dir : Path, optional
        Holds ``cifar-10-python.tar.gz`` or ``cifar-10-batches-py/``, or is that folder; it is only
        read. By default the archive is kept in the user's cache folder, and downloaded when it is not there.

    Raises
    ------
    DataError
        When nothing is found, the download fails, or a file is damaged; the message names it.
    """
    source = find_source(data_dir)
    images = np.empty((TRAIN_ROWS + BATCH_ROWS, 32, 32, 3), np.uint8)
    labels = np.empty(TRAIN_ROWS + BATCH_ROWS, np.int64)
    classes, missing = [], set(FILES)
    for name, blob in read_files(source):
        if name == META:
            classes = _class_names(blob, f"{source / name}")
        else:
            first = BATCHES.index(name) * BATCH_ROWS
            rows = slice(first, first + BATCH_ROWS)
            images[rows], labels[rows] = _batch(blob, f"{source / name}")
        missing.discard(name)
    if missing:
        raise DataError(f"{source}: incomplete, without {', '.join(sorted(missing))}; get it again")
    train, valid = slice(TRAIN_ROWS), slice(TRAIN_ROWS, None)
    _check_counts(labels[train], classes, f"{source}: the training set")
    _check_counts(labels[valid], classes, f"{source}: the test set")
    return Cifar10(images[train], labels[train], images[valid], labels[valid], classes)


def _values(blob: bytes, source: str, *keys: str) -> list[object]:
    """What a pickled dict of CIFAR-10's holds under `keys`."""
    content = load_pickle(blob, source)
    if not isinstance(content, dict):
        raise DataError(f"{source}: holds a {type(content).__name__}, not a dict of {keys}")
    # The official keys are Python 2 text; whoever saved them again may have read them as bytes.
    content = {k.decode("latin1") if isinstance(k, bytes) else k: v for k, v in content.items()}
    for key in keys:
        if key not in content:
            raise DataError(f"{source}: has no {key!r}, only {list(content)}; is it CIFAR-10?")
    return [content[key] for key in keys]


def _class_names(blob: bytes, source: str) -> list[str]:
    (names,) = _values(blob, source, "label_names")
    if not isinstance(names, list) or not len(names) == len({*map(str, names)}) == CLASSES:
        raise DataError(f"{source}: 'label_names' is not a list of {CLASSES} different names")
    return [n.decode("latin1") if isinstance(n, bytes) else str(n) for n in names]


def _batch(blob: bytes, source: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a batch's images, uint8 (10000, 32, 32, 3), and labels, integers (10000,)."""
    data, labels = _values(blob, source, "data", "labels")
    expected = (BATCH_ROWS, 3 * 32 * 32)
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.shape != expected:
        held = f"{getattr(data, 'dtype', type(data).__name__)} {getattr(data, 'shape', '')}".strip()
        raise DataError(f"{source}: 'data' is {held}, expected uint8 {expected}")
    try:
        labels = np.asarray(labels)
    except ValueError:  # lists of unequal length
        labels = np.empty(0, object)
    if labels.dtype.kind not in "iu" or labels.shape != (BATCH_ROWS,):
        raise DataError(f"{source}: 'labels' is {labels.dtype} {labels.shape}, expected {BATCH_ROWS} integers")
    wrong = np.flatnonzero((labels < 0) | (labels >= CLASSES))
    if len(wrong):
        raise DataError(f"{source}: row {wrong[0]} has label {labels[wrong[0]]}, expected 0 to {CLASSES - 1}")
    planes = data.reshape(BATCH_ROWS, 3, 32, 32)  # a row is all red, all green, then all blue
    return planes.transpose(0, 2, 3, 1), labels


def _check_counts(labels: np.ndarray, classes: list[str], source: str) -> None:
    expected = len(labels) // CLASSES
    for name, count in zip(classes, np.bincount(labels, minlength=CLASSES), strict=True):
        if count != expected:
            raise DataError(f"{source} has {count} images of class {name}, expected {expected}; get it again")
