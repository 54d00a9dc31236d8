"""Where CIFAR-10 lies, and its files' contents: in a folder, in its archive, or downloaded once.

    from data.cifar10_files import find_source, read_files
    contents = dict(read_files(find_source()))  # {"batches.meta": b"...", "data_batch_1": b"...", ...}

Nothing is unpacked: batches go from the archive into memory, so no half-unpacked folder can be
taken for whole. A download must have the official md5; a user's own files are judged by their
contents (here gzip's checksum, the rest in `data.cifar10`), so a repacked data set loads too.
"""

import gzip
import os
import socket
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path, PurePosixPath

from data.errors import DataError

ARCHIVE = "cifar-10-python.tar.gz"
FOLDER = "cifar-10-batches-py"
META = "batches.meta"
BATCHES = (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")
FILES = (META, *BATCHES)
STALL_SECONDS = 30  # a download waits this long for the next bytes; Python's default is for ever


def find_source(data_dir: Path | None = None) -> Path:
    """The archive, or the folder of unpacked batches.

    Parameters
    ----------
    data_dir : Path, optional
        Where to look; it is only read. By default the archive in `cache_dir`, downloaded when it is
        not there.

    Raises
    ------
    DataError
        When nothing is found, or the download fails; the message says where to put what.
    """
    return _fetched() if data_dir is None else _found(Path(data_dir))


def read_files(source: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and contents of those of `FILES` that `source`, from `find_source`, holds.

    Raises
    ------
    DataError
        When the archive or a file is damaged or cannot be read; the message names it.
    """
    return _folder_files(source) if source.is_dir() else _archive_files(source)


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
