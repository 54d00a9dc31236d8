"""Labelled images of one split, to measure a model on: any number of classes, and nothing is asked of a training.

found = labelled("photos/", "valid")
found.samples, found.sentence, found.skipped
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from data.audit import Audit, audit
from data.errors import DataError
from data.findings import Item
from data.folder import VALID_NAMES, held_out_alone
from data.gather import Progress
from data.scan import Sample, scan
from data.split import drawn_split

SPLITS = ("valid", "train", "test", "all")
# What the audit says of a training; images can be measured on all the same.
OF_TRAINING = {"classes", "imbalance"}


@dataclass
class Labelled:
    """The images of a split.

    ``sentence`` says which they are; ``skipped`` are the files of the whole source that were left out, each with its
    reason; ``notices`` the lines of the audit that a user should read; ``truncated``: some images end early, and are
    read with ``read_image(..., truncated=True)``.
    """

    samples: list[Sample]
    sentence: str
    skipped: list[tuple[Path, str]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    truncated: bool = False


def labelled(
    source: str | Path | None,
    split: str,
    *,
    csv: str | Path | None = None,
    csv_columns: Sequence[str] | None = None,
    valid_pct: float = 0.2,
    seed: int = 42,
    data_dir: str | Path | None = None,
    allow_truncated: bool = False,
    drop_leaks: bool = False,
    progress: Progress | None = None,
) -> Labelled:
    """The images of `split`, one of `SPLITS`, that can be read.

    Where the source has no split of its own, ``valid`` and ``train`` are drawn as `data.scan` draws them, so that with
    the seed of a training they are its own. ``test`` is the folder, or the split of the CSV, of that name.

    Parameters
    ----------
    source, csv, csv_columns, valid_pct, seed, data_dir, allow_truncated, drop_leaks, progress
        As of `data.scan.scan`.

    Raises
    ------
    DataError
        There is no data set, no such split, or no image in it that can be read.
    """
    if csv is None and str(source) == "cifar10":
        return _cifar10(split, data_dir)

    def look(held_out: Sequence[str]) -> Audit:
        options = {"allow_truncated": allow_truncated, "drop_leaks": drop_leaks, "progress": progress}
        return audit(source, csv=csv, csv_columns=csv_columns, held_out=held_out, **options)

    held_out = ("test",) if split == "test" else VALID_NAMES
    alone = held_out_alone(Path(source), held_out) if csv is None and split != "train" else None
    if alone is not None:
        source = alone
        found = look(VALID_NAMES)
        kept, sentence = found.kept, f"{alone.name}/ alone; all images"
    else:
        found = look(held_out)
        kept, sentence = _of_split(found, split, valid_pct, seed)
    if split == "all" and alone is None:
        # Beside a folder for validation, one for tests is not looked at by a training.
        known = {item.path for item in kept}
        kept = kept + [item for item in look(("test",)).kept if item.path not in known]
    if not kept:
        first = f", the first {found.skipped[0][0]}: {found.skipped[0][1]}" if found.skipped else ""
        raise DataError(f"{found.source}: no image of split {split!r} can be read{first}")
    spoken = [f for f in found.findings if f.severity != "note" and f.kind not in OF_TRAINING]
    return Labelled(
        samples=[Sample(item.path, item.label) for item in kept],
        sentence=sentence,
        skipped=found.skipped,
        notices=[finding.message for finding in spoken],
        truncated=any(item.facts.truncated for item in kept),
    )


def _of_split(found: Audit, split: str, valid_pct: float, seed: int) -> tuple[list[Item], str]:
    whole = found.layout.sentence
    if split == "all":
        return found.kept, f"{whole}; all images"
    if split == "test":
        if "valid" not in found.layout.splits:
            raise DataError(f"{found.source} has no split named test: give --split valid, train or all")
        return [item for item in found.kept if item.split == "valid"], f"{whole}; split test"
    if "valid" in found.layout.splits:
        return [item for item in found.kept if item.split == split], f"{whole}; split {split}"
    train, valid = drawn_split(found.kept, valid_pct, seed)
    share = valid_pct if split == "valid" else 1 - valid_pct
    said = f"{whole}; {share:.0%} of each class, drawn with seed {seed} as a training with it draws its {split} split"
    return (valid if split == "valid" else train), said


def _cifar10(split: str, data_dir: str | Path | None) -> Labelled:
    found = scan("cifar10", data_dir=data_dir)
    parts = {"train": found.train, "all": found.train + found.valid}
    return Labelled(parts.get(split, found.valid), f"{found.layout}; split {split}")
