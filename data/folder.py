"""Find the layout of a folder of images: which splits, which classes, which files.

    layout = find_layout(Path("photos/"))
    layout.splits                               # {"train": {"cat": [Path, ...], ...}, "valid": {...}}

Nothing is opened here, and nothing is ever written into the folder.
"""

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from data.counting import counted
from data.errors import DataError
from data.listing import NEVER_CLASSES, broken_links, files_in, folders_in, may_be_image

VALID_NAMES = ("valid", "val", "validation", "test")  # the first that exists is used
TEST = "test"  # beside another folder for validation, that of the last word
NOWHERE = "a link that leads nowhere"
EXPECTED = "expected one folder per class, or train/ and valid/ that hold one folder per class"

Classes = dict[str, list[Path]]


@dataclass
class Layout:
    """What a folder holds, by name alone.

    ``splits`` maps "train", and "valid" where there is one, to the files of each class, sorted.
    ``sentence`` describes the layout; ``notices`` are what the user should hear about, ``remarks`` what is in
    order all the same; ``skipped`` are the files left out, each with its reason; ``nested`` those that lie deeper
    than in their class's folder.
    """

    splits: dict[str, Classes] = field(default_factory=dict)
    sentence: str = "one folder per class"
    notices: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    skipped: list[tuple[Path, str]] = field(default_factory=list)
    nested: list[Path] = field(default_factory=list)


def find_layout(root: Path, held_out: Sequence[str] = VALID_NAMES) -> Layout:
    """Read the layout of `root`.

    Parameters
    ----------
    held_out
        The names that the folder for validation may have; the first that exists is used.

    Raises
    ------
    DataError
        `root` is missing or a file, its layout is none of the known ones, or its folder for training or validation
        is a link that leads nowhere.
    """
    if not root.exists():
        raise DataError(f"{root}: no such folder")
    if not root.is_dir():
        raise DataError(f"{root} is a file: give the folder that holds the images ({EXPECTED})")
    folders = {path.name.lower(): path for path in folders_in(root)}
    broken = {path.name.lower(): path for path in broken_links(root)}
    named = folders | broken
    train = named.get("train")
    valid = next((named[name] for name in held_out if name in named), None)
    for path in broken.values():
        if path in (train, valid):
            raise DataError(f"{path}: {NOWHERE} ({os.readlink(path)}): mend or remove it")
    layout = Layout()
    if train is None or _is_class(train, folders):
        if valid is not None and any(folders_in(valid)):
            raise DataError(f"{root} has {valid.name}/ but no train/: {EXPECTED}")
        if wrapped := _wrapped(root):
            raise DataError(f"{root}: the classes lie one folder further down, give {wrapped} ({EXPECTED})")
        layout.splits["train"] = _classes(root, layout)
        return layout
    layout.splits["train"] = _classes(train, layout)
    layout.sentence = f"{train.name}/ alone"
    if valid is not None:
        layout.splits["valid"] = _classes(valid, layout)
        layout.sentence = f"{train.name}/ and {valid.name}/"
        others = [folders[name] for name in held_out if name in folders and folders[name] != valid]
        for other in others:
            if other.name.lower() == TEST:
                command = f"python -m app.evaluate MODEL {shlex.quote(str(root))} --split test"
                layout.remarks.append(f"{other}/ is kept out of the training: {command} measures on it")
            else:
                layout.notices.append(f"{other}/ is ignored: {valid.name}/ is used to validate")
    return layout


def held_out_alone(root: Path, held_out: Sequence[str] = VALID_NAMES) -> Path | None:
    """The folder of classes in `root` that is named as one of `held_out`, where there is none to train on beside it."""
    folders = {path.name.lower(): path for path in folders_in(root)} if root.is_dir() else {}
    found = next((folders[name] for name in held_out if name in folders), None)
    return found if found is not None and "train" not in folders and any(folders_in(found)) else None


def _classes(folder: Path, layout: Layout) -> Classes:
    """The image files of each class; what is left out goes into the layout's notices and skipped files."""
    classes: Classes = {}
    others: list[Path] = []
    for path in sorted(folder.iterdir()):
        if path.name in NEVER_CLASSES and path.is_dir():
            layout.notices.append(f"{path}/ is not a class: ignored")
    for path in folders_in(folder):
        files = files_in(path)
        others += [file for file in files if not may_be_image(file.name)]
        if images := [file for file in files if may_be_image(file.name)]:
            classes[path.name] = images
            layout.nested += [file for file in images if file.parent != path]
        else:
            layout.notices.append(f"{path}/ holds no images{_among(files)}: not a class")
    for path in broken_links(folder):
        layout.notices.append(f"{path}: {NOWHERE} ({os.readlink(path)}): left out")
        layout.skipped.append((path, NOWHERE))
    loose = [path for path in sorted(folder.iterdir()) if path.is_file() and may_be_image(path.name)]
    if not classes:
        if loose:
            raise DataError(f"{counted(len(loose), 'image')} directly in {folder}: {EXPECTED}")
        raise DataError(f"no images found in {folder}{_hint(folder)}: {EXPECTED}")
    if loose:
        layout.notices.append(f"{counted(len(loose), 'image')} directly in {folder}, of no class: ignored")
        layout.skipped += [(path, "directly in the folder of classes") for path in loose]
    if others:
        layout.notices.append(
            f"{counted(len(others), 'file')} without an image's suffix left out, the first {others[0]}"
        )
        layout.skipped += [(path, f"{path.suffix or 'no suffix'}: not that of an image") for path in others]
    return classes


def _is_class(train: Path, folders: dict[str, Path]) -> bool:
    """Whether the folder named train holds images of trains: it has no folders, and stands beside other classes."""
    others = set(folders) - {"train"}
    return bool(others) and others.isdisjoint(VALID_NAMES) and not any(folders_in(train))


def _wrapped(root: Path) -> Path | None:
    """The folder in `root`, as unpacking an archive makes it, that is itself laid out as a data set."""
    folders = folders_in(root)
    for path in folders:
        inner = {child.name.lower(): child for child in folders_in(path)}
        if "train" in inner and any(folders_in(inner["train"])):
            return path
    return folders[0] if len(folders) == 1 and len(folders_in(folders[0])) > 1 else None


def _among(files: list[Path]) -> str:
    return f" among its {counted(len(files), 'file')}, the first {files[0].name}" if files else ""


def _hint(folder: Path) -> str:
    found = [path.name + "/" for path in folders_in(folder)]
    return f" (it has {', '.join(found[:5])})" if found else ""
