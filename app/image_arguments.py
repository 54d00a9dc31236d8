"""From the words on a command line to images: files, folders, globs, standard input.

collect(["photos/", "a.jpg", "*.png"])      # [("photos/1.jpg", Path("photos/1.jpg")), ...]
"""

import glob
import os
import sys
from pathlib import Path

from app.errors import UsageError

STDIN = "-"


def collect(arguments: list[str], *, listed: bool = False) -> list[tuple[str, Path | bytes]]:
    """Each image as the name it is reported under and what `data.read_image` takes.

    A file that is named is taken whatever its suffix, even when it is missing: reading it says why.

    Raises
    ------
    UsageError
        A folder or glob without images, an empty standard input, or ``--list`` without ``-``.
    """
    if listed and arguments != [STDIN]:
        raise UsageError("--list goes with - alone: the paths come on standard input")
    if listed:
        # A line ends at a line feed alone: names may hold any other separator, and any bytes.
        lines = (line.removesuffix(b"\r") for line in sys.stdin.buffer.read().split(b"\n"))
        arguments = [os.fsdecode(line) for line in lines if line.strip()]
        if not arguments:
            raise UsageError("--list -: standard input holds no paths")
        return [(argument, Path(argument)) for argument in arguments]
    found: list[tuple[str, Path | bytes]] = []
    for argument in arguments:
        if not argument:
            raise UsageError("IMAGE is empty: give a file, a folder or a glob")
        found += _expand(argument)
    return found


def _expand(argument: str) -> list[tuple[str, Path | bytes]]:
    if argument == STDIN:
        content = sys.stdin.buffer.read()
        if not content:
            raise UsageError("-: standard input is empty, expected the bytes of an image")
        return [(STDIN, content)]
    path = Path(argument)
    if path.is_dir():
        from data.listing import image_files  # with numpy and Pillow, which a single file may do without till later

        paths = image_files(path)
        if not paths:
            raise UsageError(f"{argument}: no images in this folder")
    elif not path.exists() and glob.has_magic(argument):
        paths = sorted(Path(match) for match in glob.glob(argument, recursive=True) if Path(match).is_file())
        if not paths:
            raise UsageError(f"{argument}: no file matches")
    else:
        paths = [path]
    return [(str(found), found) for found in paths]
