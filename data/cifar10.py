"""CIFAR-10 as arrays: from a folder, from its archive, or downloaded once into the user's cache.

    from data.cifar10 import load_cifar10
    cifar = load_cifar10()                      # or load_cifar10(Path("my-cifar"))
    cifar.train_images.shape                    # (50000, 32, 32, 3)

Nothing is unpacked: batches go from the archive into memory, so no half-unpacked folder can be
taken for whole. A download must have the official md5. A user's own files are judged by contents
alone (gzip's checksum, shapes, labels, images per class), so a repacked data set loads too; every
pickle, official or not, goes through `data.safe_pickle`.
"""

import gzip
import os
import socket
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path, PurePosixPath

import numpy as np

from data.errors import DataError
from data.safe_pickle import load_pickle

ARCHIVE = "cifar-10-python.tar.gz"
FOLDER = "cifar-10-batches-py"
META = "batches.meta"
BATCHES = (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")
FILES = (META, *BATCHES)
BATCH_ROWS = 10_000
TRAIN_ROWS = 5 * BATCH_ROWS
CLASSES = 10
STALL_SECONDS = 30  # a download waits this long for the next bytes; Python's default is for ever


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
        read. By default the archive is kept in `cache_dir`, and downloaded when it is not there.

    Raises
    ------
    DataError
        When nothing is found, the download fails, or a file is damaged; the message names it.
    """
    source = _fetched() if data_dir is None else _found(Path(data_dir))
    images = np.empty((TRAIN_ROWS + BATCH_ROWS, 32, 32, 3), np.uint8)
    labels = np.empty(TRAIN_ROWS + BATCH_ROWS, np.int64)
    classes, missing = [], set(FILES)
    for name, blob in _folder_files(source) if source.is_dir() else _archive_files(source):
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


def cache_dir() -> Path:
    """Where the downloaded archive is kept: ``fastsight/cifar10`` in the user's cache folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "fastsight", "cifar10")


def _found(data_dir: Path) -> Path:
    """Where under `data_dir` the files are: whole folder, else archive, else part of a folder."""
    archive = data_dir / ARCHIVE
    folders = {f: sum((f / n).is_file() for n in FILES) for f in (data_dir / FOLDER, data_dir)}
    folder = max(folders, key=folders.get)
    if folders[folder] < len(FILES) and archive.is_file():
        return archive
    if folders[folder] == 0:
        raise DataError(
            f"{data_dir}: no CIFAR-10 here; expected {ARCHIVE}, or the folder {FOLDER} (or to be "
            f"that folder) with {', '.join(FILES)}"
        )
    return folder


def _fetched() -> Path:
    """The archive in the cache, with the official md5: kept from before, or downloaded now."""
    # Here, as torchvision imports torch, which takes seconds.
    from torchvision.datasets import CIFAR10
    from torchvision.datasets.utils import calculate_md5, check_integrity, download_url

    archive, advice, old_timeout = cache_dir() / ARCHIVE, "", socket.getdefaulttimeout()
    try:
        if check_integrity(archive, CIFAR10.tgz_md5):
            return archive
        if archive.is_file():
            md5 = calculate_md5(archive)
            advice = f"{archive} is damaged (md5 {md5}, not {CIFAR10.tgz_md5}) and "
        archive.parent.mkdir(parents=True, exist_ok=True)
        socket.setdefaulttimeout(STALL_SECONDS)
        # Renamed once it is whole, so that an interrupted or a second run never meets a part of it.
        with tempfile.TemporaryDirectory(prefix="download-", dir=archive.parent) as folder:
            download_url(CIFAR10.url, folder, ARCHIVE, CIFAR10.tgz_md5)
            os.replace(Path(folder, ARCHIVE), archive)
    except (OSError, HTTPException, RuntimeError) as error:
        # RuntimeError is torchvision's, for the md5: "File not found or corrupted."
        damaged = isinstance(error, RuntimeError)
        reason = f"what came has not the md5 {CIFAR10.tgz_md5}" if damaged else str(error)
        raise DataError(
            f"{advice}CIFAR-10 could not be downloaded ({' '.join(reason.split())}): run again "
            f"with a network, put {ARCHIVE} into {archive.parent}, or give its folder as --data-dir"
        ) from error
    finally:
        socket.setdefaulttimeout(old_timeout)
    return archive


def _folder_files(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in (folder / name for name in FILES):
        if path.is_file():
            try:
                yield path.name, path.read_bytes()
            except OSError as error:
                raise DataError(f"{path}: cannot be read ({error.strerror})") from error


def _archive_files(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Yield files in the archive's own order, in one pass: going back would mean unzipping anew."""
    try:
        with gzip.open(archive) as stream:
            with tarfile.open(fileobj=stream, mode="r|") as tar:
                for member in tar:
                    name = PurePosixPath(member.name).name
                    if member.isfile() and name in FILES:
                        yield name, tar.extractfile(member).read()
            while stream.read(1 << 20):  # to the end, where gzip's checksum is compared
                pass
    except (EOFError, gzip.BadGzipFile, zlib.error, tarfile.TarError) as error:
        raise DataError(f"{archive}: truncated or damaged ({error}); delete it and get it again") from error
    except OSError as error:
        raise DataError(f"{archive}: cannot be read ({error.strerror})") from error


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
            raise DataError(f"{source} has {count} images of class {name}, expected {expected}")
