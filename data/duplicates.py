"""The same picture in several files: copies, leaks from validation into training, contradicting labels.

    findings = duplicate_findings(items)
    leaked = leaks(items)                       # {a file of train: the same picture in validation}

Same means the same pixels after decoding: a copy with another name or other metadata, not a resized one.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path

from data.counting import counted
from data.findings import Finding, Item


def leaks(items: Iterable[Item]) -> dict[Path, Path]:
    """Files of train whose picture is in validation too, each with the first such file."""
    items = list(items)
    held_out = {}
    for item in items:
        if item.split == "valid" and item.facts.digest:
            held_out.setdefault(item.facts.digest, item.path)
    return {item.path: held_out[item.facts.digest] for item in items if _is_leak(item, held_out)}


def duplicate_findings(items: Sequence[Item], *, drop_leaks: bool = False) -> list[Finding]:
    """Leaks, two labels for one picture, and copies within a split.

    Parameters
    ----------
    items
        The files that are kept.
    drop_leaks
        The files of train that leak are left out: they are "skipped" then, not a "warning".
    """
    found = leaks(items)
    findings = []
    if found:
        images = counted(len(found), "file")
        path, twin = next(iter(found.items()))
        files = tuple((path, f"same image as {twin} in validation") for path, twin in found.items())
        if drop_leaks:
            message = f"{images} of train left out (leak), the first {path}: same image as {twin} in validation"
        else:
            message = (
                f"{images} of train also in validation (leak: the accuracy comes out too good), the first {path}: "
                f"same image as {twin}; --drop-leaks takes them out of train"
            )
        findings.append(Finding("leak", "skipped" if drop_leaks else "warning", message, files))
    if drop_leaks:
        # The split too: a CSV may name one file in both.
        items = [item for item in items if item.split != "train" or item.path not in found]
    return findings + _two_labels(items) + _copies(items)


def _is_leak(item: Item, held_out: dict[str, Path]) -> bool:
    return item.split == "train" and item.facts.digest in held_out


def _two_labels(items: Iterable[Item]) -> list[Finding]:
    files = {}
    pictures = 0
    for group in _groups(items, lambda item: item.facts.digest):
        labels = sorted({item.label for item in group})
        if len(labels) > 1:
            pictures += 1
            files |= {item.path: f"same image under {' and '.join(labels)}" for item in group}
    if not files:
        return []
    path, remark = next(iter(files.items()))
    message = f"{counted(pictures, 'image')} under two labels, the first {path}: {remark}"
    return [Finding("two-labels", "warning", message, tuple(files.items()))]


def _copies(items: Iterable[Item]) -> list[Finding]:
    files = {}
    for group in _groups(items, lambda item: (item.split, item.label, item.facts.digest)):
        first, *others = dict.fromkeys(item.path for item in group)
        files |= dict.fromkeys(others, f"same image as {first}")
    if not files:
        return []
    path, remark = next(iter(files.items()))
    message = f"{counted(len(files), 'file')} copied within a split, the first {path}: {remark}"
    return [Finding("duplicate", "warning", message, tuple(files.items()))]


def _groups(items: Iterable[Item], key: Callable[[Item], Hashable]) -> list[list[Item]]:
    groups = defaultdict(list)
    for item in items:
        if item.facts.digest:
            groups[key(item)].append(item)
    return [group for group in groups.values() if len(group) > 1]
