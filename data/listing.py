"""What lies in a folder, by name: files, images among them, folders, broken links; what is hidden is left out.

    paths = image_files(Path("photos/"))

Nothing is opened.
"""

import os
from pathlib import Path

from data.reader import SUFFIXES

NEVER_CLASSES = frozenset({"__MACOSX", "__pycache__", "runs", "node_modules"})
JUNK_FILES = frozenset({"thumbs.db", "desktop.ini"})


def image_files(folder: Path) -> list[Path]:
    """All image files below `folder`, by suffix, sorted; hidden files and folders are left out."""
    return [path for path in files_in(folder) if may_be_image(path.name)]


def files_in(folder: Path) -> list[Path]:
    """All files below `folder`, those of linked folders too, each folder once; hidden ones and junk are left out."""
    # A link to a folder that holds this one would bring in the other classes, or be followed for ever.
    seen = {str(path) for path in Path(os.path.realpath(folder)).parents}
    found = []
    for parent, folders, files in os.walk(folder, followlinks=True):
        real = os.path.realpath(parent)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if not _ignored(name))
        found += [Path(parent, name) for name in files if not _is_junk(name)]
    return sorted(found)


def folders_in(folder: Path) -> list[Path]:
    """The folders directly in `folder`, sorted, but hidden ones and those that are never classes."""
    return sorted(path for path in folder.iterdir() if path.is_dir() and not _ignored(path.name))


def broken_links(folder: Path) -> list[Path]:
    """The links directly in `folder` that lead nowhere, sorted, but those that `folders_in` would leave out."""
    return sorted(
        path for path in folder.iterdir() if path.is_symlink() and not path.exists() and not _ignored(path.name)
    )


def may_be_image(name: str) -> bool:
    """Whether a file of this name is taken for an image: by its suffix."""
    return not _is_junk(name) and os.path.splitext(name)[1].lower() in SUFFIXES


def _ignored(name: str) -> bool:
    return name.startswith(".") or name in NEVER_CLASSES


def _is_junk(name: str) -> bool:
    return name.startswith(".") or name.lower() in JUNK_FILES
