"""Names that look alike to a person, or to another computer: they differ by case or Unicode form only.

    findings = name_findings(layout.splits)

On macOS and Windows "Cat" and "cat" are one folder; "é" is one character or two, which look the same.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from data.counting import counted
from data.findings import Finding

T = TypeVar("T")


def name_findings(splits: Mapping[str, Mapping[str, Iterable[Path]]]) -> list[Finding]:
    """Classes that differ by case or Unicode form, over all splits, and files that do so within a folder.

    Parameters
    ----------
    splits
        The files of each class of each split, as in a `data.folder.Layout`.
    """
    findings = []
    classes = dict.fromkeys(label for split in splits.values() for label in split)
    for names in _alike((None, label, label) for label in classes):
        listed = " and ".join(repr(name) for name in names)
        findings.append(Finding("class-names", "warning", f"classes {listed} differ {_how(names)}: one class perhaps"))
    paths = dict.fromkeys(path for split in splits.values() for files in split.values() for path in files)
    files = {}
    for first, *others in _alike((path.parent, path.name, path) for path in paths):
        files |= {path: f"differs from {first.name} {_how([path.name, first.name])}" for path in others}
    if files:
        path, remark = next(iter(files.items()))
        message = (
            f"{counted(len(files), 'file')} whose name some systems take for another's, the first {path}: {remark}"
        )
        findings.append(Finding("file-names", "warning", message, tuple(files.items())))
    return findings


def _alike(named: Iterable[tuple[Hashable, str, T]]) -> list[list[T]]:
    """The values of one place whose names are the same once folded."""
    groups = defaultdict(list)
    for place, name, value in named:
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
        groups[place, folded].append(value)
    return [group for group in groups.values() if len(group) > 1]


def _how(names: Iterable[str]) -> str:
    forms = {unicodedata.normalize("NFC", name) for name in names}
    return "by Unicode form only" if len(forms) == 1 else "by case only"
