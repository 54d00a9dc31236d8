"""Files that are written for the user: never over something of his, and complete or not there.

refuse_overwriting("-o", Path("out.csv"), inputs)
refuse_folder("--plots", Path("plots"), ["photos"])
with written(Path("out.csv")) as path:
    path.write_text(...)
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from app.errors import UsageError
from callbacks.whole_file import whole_file

JOINERS = "\u200c\u200d"  # they shape the letters beside them, in Persian and in emoji, and move nothing


def refuse_overwriting(flag: str, path: Path, inputs: Iterable[Path]) -> None:
    """Raise a UsageError where `path` is a folder, in a folder that is missing, or one of the `inputs`."""
    if path.is_dir():
        raise UsageError(f"{flag} {path} is a folder: give a file name")
    for place in (path.parent, path.resolve().parent):  # a link is followed
        if not place.is_dir():
            raise UsageError(f"{flag} {path}: the folder {place} does not exist")
    if path.exists() and any(os.path.exists(known) and os.path.samefile(path, known) for known in inputs):
        raise UsageError(f"{flag} {path} is read by this command: choose another name")


def refuse_inside(flag: str, path: Path, source: str | None) -> None:
    """Raise a UsageError where `path` lies in the folder `source`, if that is one."""
    if source is not None and Path(source).is_dir() and path.resolve().is_relative_to(Path(source).resolve()):
        raise UsageError(f"{flag} {path} lies inside the data set {source}: nothing is written there, choose another")


def refuse_folder(flag: str, path: Path, sources: Iterable[str | None] = ()) -> None:
    """Raise a UsageError where `path` is no folder that files can be put into, nor can become one.

    Nothing is made. It may not lie in one of the `sources` that is a folder.
    """
    for source in sources:
        refuse_inside(flag, path, source)
    place = path.absolute()
    while not os.path.lexists(place):
        place = place.parent
    if not place.is_dir():
        kind = "a file" if place.exists() else "a dangling link"
        where = path if place == path.absolute() else f"{path}: {place}"
        raise UsageError(f"{flag} {where} is {kind}: give a folder")
    if not os.access(place, os.W_OK | os.X_OK):
        raise UsageError(f"{flag} {path}: {place} cannot be written: choose another place")


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """Give a temporary name beside `path`, which is flushed and renamed when all went well, else removed.

    A link is followed; what is no regular file, a device or a pipe, is written directly.

    Raises
    ------
    OSError
        What went wrong with the temporary file, said of `path`.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        yield target
        return
    try:
        with whole_file(target) as partial:
            yield partial
    except OSError as error:
        if error.filename != str(target):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error  # by the name that was given


def printable(text: str) -> str:
    """`text` on one line: what would move the cursor or colour a terminal is spelled out."""
    return "".join(
        c if c.isprintable() or c in JOINERS else c.encode("unicode_escape", "surrogatepass").decode() for c in text
    )
