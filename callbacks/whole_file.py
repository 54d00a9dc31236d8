"""A file that is complete or not there, whatever happens while it is written: a full disk, a kill, a power cut.

with whole_file(Path("results.csv")) as partial:
    partial.write_text(...)
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a temporary name in the folder of `path`; when all went well it is flushed to the disk and renamed.

    When not, it is removed, and what `path` was before stays. A kill leaves the temporary file: see `sweep`.

    Raises
    ------
    OSError
        What went wrong with the temporary file, said of `path`.
    """
    partial = path.with_name(f".{os.getpid()}.partial")
    try:
        yield partial
        _flush(partial)
        os.replace(partial, path)
        with suppress(OSError):  # not every file system lets a folder be flushed; the file itself is whole by now
            _flush(path.parent)
    except OSError as error:
        if error.filename is not None and os.fspath(error.filename) != str(partial):
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        partial.unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Remove the temporary files that killed processes have left in `folder`; no other process may be writing there."""
    for leftover in folder.glob(".*.partial"):
        leftover.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    """Wait until the disk has it: a rename may reach the disk before the contents do."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
