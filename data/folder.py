"""Find the layout of a folder of images: which splits, which classes, which files.

    layout = find_layout(Path("photos/"))
    layout.splits                               # {"train": {"cat": [Path, ...], ...}, "valid": {...}}

Nothing is opened here, and nothing is ever written into the folder.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path

from data.errors import DataError
from data.reader import SUFFIXES

VALID_NAMES = ("valid", "val", "validation", "test")  # the first that exists is used
NEVER_CLASSES = frozenset({"__MACOSX", "__pycache__", "runs", "node_modules"})
JUNK_FILES = frozenset({"thumbs.db", "desktop.ini"})

EXPECTED = "expected one folder per class, or train/ and valid/ that hold one folder per class"

Classes = dict[str, list[Path]]


@dataclass
class Layout:
    """What a folder holds, by name alone.

    ``splits`` maps "train", and "valid" where there is one, to the files of each class, sorted.
    ``sentence`` describes the layout; ``notices`` are what the user should hear about.
    """

    splits: dict[str, Classes]
    sentence: str
    notices: list[str] = field(default_factory=list)


def find_layout(root: Path) -> Layout:
    """Read the layout of `root`.

    Raises
    ------
    DataError
        `root` is missing or a file, or its layout is none of the known ones.
    """
    if not root.exists():
        raise DataError(f"{root}: no such folder")
    if not root.is_dir():
        raise DataError(f"{root} is a file: give the folder that holds the images ({EXPECTED})")
    folders = {path.name.lower(): path for path in _folders(root)}
    train = folders.get("train")
    valid = next((folders[name] for name in VALID_NAMES if name in folders), None)
    notices: list[str] = []
    if train is None:
        if valid is not None and any(_folders(valid)):
            raise DataError(f"{root} has {valid.name}/ but no train/: {EXPECTED}")
        return Layout({"train": _classes(root, notices)}, "one folder per class", notices)
    splits = {"train": _classes(train, notices)}
    sentence = f"{train.name}/ alone"
    if valid is not None:
        splits["valid"] = _classes(valid, notices)
        sentence = f"{train.name}/ and {valid.name}/"
    return Layout(splits, sentence, notices)


def image_files(folder: Path) -> list[Path]:
    """All image files below `folder`, by suffix, sorted; hidden files and folders are left out."""
    found, seen = [], set()
    for parent, folders, files in os.walk(folder, followlinks=True):
        real = os.path.realpath(parent)
        if real in seen:  # a link that leads back up would be followed for ever
            folders.clear()
            continue
        seen.add(real)
        folders[:] = [name for name in folders if not _ignored(name)]
        found += [Path(parent, name) for name in files if _may_be_image(name)]
    return sorted(found)


def _classes(folder: Path, notices: list[str]) -> Classes:
    classes: Classes = {}
    for path in sorted(folder.iterdir()):
        if path.name in NEVER_CLASSES and path.is_dir():
            notices.append(f"{path}/ is not a class: ignored")
    for path in _folders(folder):
        if files := image_files(path):
            classes[path.name] = files
        else:
            notices.append(f"{path}/ holds no images: not a class")
    loose = sum(_may_be_image(path.name) for path in folder.iterdir() if path.is_file())
    if not classes:
        if loose:
            raise DataError(f"{loose} images lie directly in {folder}: {EXPECTED}")
        raise DataError(f"no images found in {folder}{_hint(folder)}: {EXPECTED}")
    if loose:
        notices.append(f"{loose} images directly in {folder} belong to no class: ignored")
    return classes


def _hint(folder: Path) -> str:
    found = [path.name + "/" for path in _folders(folder)]
    return f" (it has {', '.join(found[:5])})" if found else ""


def _folders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir() and not _ignored(path.name))


def _ignored(name: str) -> bool:
    return name.startswith(".") or name in NEVER_CLASSES


def _may_be_image(name: str) -> bool:
    if name.startswith(".") or name.lower() in JUNK_FILES:
        return False
    return os.path.splitext(name)[1].lower() in SUFFIXES
