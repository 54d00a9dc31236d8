"""What a source holds: its layout, classes, files and image sizes, before anything heavy is imported.

found = scan("photos/", valid_pct=0.2, seed=0)
found.classes, len(found.train), len(found.valid), found.side
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from data.audit import audit
from data.classes import check_classes
from data.errors import DataError
from data.findings import Finding
from data.gather import Progress
from data.pixels import Pixels
from data.split import drawn_split, limit_samples

CIFAR10_MEAN, CIFAR10_STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)


class Sample(NamedTuple):
    """One labelled image: what `read_image` takes, and the name of its class."""

    source: Path | np.ndarray
    label: str


@dataclass
class Scan:
    """What a source holds.

    ``side`` is the median of the images' longer sides in pixels; ``stats`` the data set's own mean and
    deviation per channel, in [0, 1], where they are known; ``skipped`` the files left out, each with its
    reason; ``findings`` all that the audit of the files found, and ``notices`` the lines of it that a user
    should read; ``truncated``: some images end early, and are read with ``read_image(..., truncated=True)``.
    """

    source: str
    layout: str
    classes: list[str]
    train: list[Sample]
    valid: list[Sample]
    side: int
    stats: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    skipped: list[tuple[Path, str]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    truncated: bool = False


def scan(
    source: str | Path | None,
    *,
    csv: str | Path | None = None,
    csv_columns: Sequence[str] | None = None,
    valid_pct: float = 0.2,
    limit: int | None = None,
    seed: int = 42,
    data_dir: str | Path | None = None,
    allow_truncated: bool = False,
    drop_leaks: bool = False,
    progress: Progress | None = None,
    pixels: Pixels | None = None,
) -> Scan:
    """Look at `source`: a folder of images, whose files are audited, or the name ``cifar10``.

    Parameters
    ----------
    source
        A folder (``train/`` with ``valid/``, ``val/``, ``validation/`` or ``test/``; ``train/`` alone; or one
        folder per class), or ``cifar10``.
    csv, csv_columns, allow_truncated, drop_leaks, progress, pixels
        As of `data.audit.audit`.
    valid_pct
        Share of each class drawn for validation where the source has no split of its own.
    limit
        At most so many images per split, the classes in proportion.
    data_dir
        For ``cifar10``: where the archive or its unpacked batches already lie.

    Raises
    ------
    DataError
        With one line for the user, when the source cannot be trained on.
    """
    if csv is None and str(source) == "cifar10":
        found = _scan_cifar10(data_dir)
    else:
        options = {"allow_truncated": allow_truncated, "drop_leaks": drop_leaks, "progress": progress, "pixels": pixels}
        found = _scan_files(source, csv, csv_columns, valid_pct, seed, options)
    if limit is not None:
        found.train = limit_samples(found.train, limit, seed)
        found.valid = limit_samples(found.valid, limit, seed)
    return found


def _scan_cifar10(data_dir: str | Path | None) -> Scan:
    from data.cifar10 import load_cifar10

    arrays = load_cifar10(Path(data_dir) if data_dir else None)

    def samples(images: np.ndarray, labels: np.ndarray) -> list[Sample]:
        return [Sample(image, arrays.classes[label]) for image, label in zip(images, labels)]

    return Scan(
        source="cifar10",
        layout="CIFAR-10's own split",
        classes=list(arrays.classes),
        train=samples(arrays.train_images, arrays.train_labels),
        valid=samples(arrays.valid_images, arrays.valid_labels),
        side=arrays.train_images.shape[1],
        stats=(CIFAR10_MEAN, CIFAR10_STD),
    )


def _scan_files(
    source: str | Path | None,
    csv: str | Path | None,
    csv_columns: Sequence[str] | None,
    valid_pct: float,
    seed: int,
    options: dict[str, Any],
) -> Scan:
    found = audit(source, csv=csv, csv_columns=csv_columns, **options)
    if errors := [finding.message for finding in found.findings if finding.severity == "error"]:
        # Names that look alike are often the cause of a class that only validation has.
        alike = [finding.message for finding in found.findings if finding.kind == "class-names"]
        raise DataError("; ".join([errors[0], *alike]))
    train, valid = ([item for item in found.kept if item.split == split] for split in ("train", "valid"))
    sentence = found.layout.sentence
    classes = sorted({item.label for item in train})
    notices = [finding.message for finding in found.findings if finding.severity != "note"] + found.layout.remarks
    if "valid" not in found.layout.splits:
        train, valid = drawn_split(train, valid_pct, seed)
        notices += check_classes(Path(found.source), classes, classes, valid)
        sentence += f"; no validation split, so {valid_pct:.0%} of each class drawn with seed {seed}"
    return Scan(
        source=found.source,
        layout=sentence,
        classes=classes,
        train=[Sample(item.path, item.label) for item in train],
        valid=[Sample(item.path, item.label) for item in valid],
        side=round(median(max(item.facts.width, item.facts.height) for item in found.kept)),
        skipped=found.skipped,
        findings=found.findings,
        notices=notices,
        truncated=any(item.facts.truncated for item in found.kept),
    )
