"""What is wrong, or doubtful, with the files of a data set: rules over facts; nothing is read here.

for finding in file_findings(items, allow_truncated=False):
    print(finding.severity, finding.message)
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from data.counting import counted
from data.inspect import Facts

# "error": it cannot be trained on. "skipped": files are left out. "warning": kept, may do harm. "note": harmless.
SEVERITIES = ("error", "skipped", "warning", "note")

MIN_SIDE = 8  # px; the sample's digits have eight, and less shows nothing
EXTREME_ASPECT = 10  # long to short side; a square of it shows less than a tenth (panoramas reach about 4)

# What a reason begins with, and the kind that names it.
KINDS = {
    "empty file": "empty",
    "not an image": "not-an-image",
    "no such file": "missing",
    "link to a missing file": "missing",
    "damaged": "damaged",
    "too many pixels": "too-large",
    "pixel values": "unknown-range",
    "HEIC": "unsupported",
}
# Pillow's name of a format, and the suffixes a file of it may have.
FORMAT_SUFFIXES = {
    "AVIF": (".avif", ".heif"),
    "BMP": (".bmp",),
    "GIF": (".gif",),
    "HEIF": (".heic", ".heif"),
    "JPEG": (".jpg", ".jpeg", ".jpe", ".jfif", ".mpo"),
    "JPEG2000": (".jp2",),
    "MPO": (".mpo", ".jpg", ".jpeg", ".jpe", ".jfif"),
    "PNG": (".png",),
    "PPM": (".ppm", ".pgm", ".pbm", ".pnm"),
    "TGA": (".tga",),
    "TIFF": (".tif", ".tiff"),
    "WEBP": (".webp",),
}


class Item(NamedTuple):
    """A file of a data set: the split and the class it lies in, and what was seen in it."""

    path: Path
    split: str  # "train" or "valid"
    label: str
    facts: Facts


class Finding(NamedTuple):
    """One thing that was found: its kind, one of `SEVERITIES`, a line for the user, and (file, remark) pairs."""

    kind: str
    severity: str
    message: str
    files: tuple[tuple[Path, str], ...] = ()


def is_kept(facts: Facts, allow_truncated: bool) -> bool:
    """Whether a file is used."""
    return not facts.reason or (facts.truncated and allow_truncated)


def file_findings(items: Sequence[Item], *, allow_truncated: bool) -> list[Finding]:
    """The rules that judge each file by itself: first the files that are left out, by kind, then the doubtful."""
    return [
        *_left_out(items, allow_truncated),
        *_doubtful(items, "truncated", "warning", "truncated but kept", _truncated(allow_truncated)),
        *_doubtful(items, "uniform", "warning", "of a single colour", _uniform),
        *_doubtful(items, "small", "warning", f"below {MIN_SIDE} pixels", _small),
        *_doubtful(items, "aspect", "warning", f"over {EXTREME_ASPECT} times longer than wide", _aspect),
        *_doubtful(items, "suffix", "note", "with the suffix of another format, read all the same", _suffix),
    ]


def _left_out(items: Iterable[Item], allow_truncated: bool) -> list[Finding]:
    groups: dict[str, dict[Path, str]] = {}
    for item in items:
        if not is_kept(item.facts, allow_truncated):
            groups.setdefault(_kind(item.facts), {})[item.path] = item.facts.reason
    findings = []
    for kind, files in groups.items():
        path, reason = next(iter(files.items()))
        message = f"{counted(len(files), 'file')} left out ({kind}), the first {path}: {reason}"
        if kind == "truncated":
            message += "; --allow-truncated keeps such files"
        findings.append(Finding(kind, "skipped", message, tuple(files.items())))
    return findings


def _kind(facts: Facts) -> str:
    if facts.truncated:
        return "truncated"
    return next((kind for start, kind in KINDS.items() if facts.reason.startswith(start)), "unreadable")


def _doubtful(
    items: Iterable[Item], kind: str, severity: str, words: str, remark: Callable[[Item], str]
) -> list[Finding]:
    """One finding for the files that `remark` says something about."""
    files = {item.path: text for item in items if (text := remark(item))}
    if not files:
        return []
    path, text = next(iter(files.items()))
    message = f"{counted(len(files), 'file')} {words}, the first {path}: {text}"
    return [Finding(kind, severity, message, tuple(files.items()))]


def _truncated(allowed: bool) -> Callable[[Item], str]:
    return lambda item: item.facts.reason if item.facts.truncated and allowed else ""


def _uniform(item: Item) -> str:
    return "one colour all over" if item.facts.uniform else ""


def _small(item: Item) -> str:
    width, height = item.facts.width, item.facts.height
    return f"{width}x{height} pixels" if 0 < min(width, height) < MIN_SIDE else ""


def _aspect(item: Item) -> str:
    short, long = sorted((item.facts.width, item.facts.height))
    return f"{item.facts.width}x{item.facts.height} pixels" if long > EXTREME_ASPECT * short > 0 else ""


def _suffix(item: Item) -> str:
    suffixes = FORMAT_SUFFIXES.get(item.facts.format)
    if suffixes is None or item.path.suffix.lower() in suffixes:
        return ""
    return f"is {item.facts.format}"
