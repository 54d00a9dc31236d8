"""Everything that can be said of a data set before training: what is kept, what is left out, what is doubtful.

    found = audit("photos/")
    for finding in found.findings:
        print(finding.severity, finding.message)

`data.scan` begins with this, and `app.audit` prints it. Nothing is written but the cache of facts.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from data.balance import balance_findings
from data.classes import check_classes
from data.counting import counted
from data.duplicates import duplicate_findings, leaks
from data.errors import DataError
from data.findings import SEVERITIES, Finding, Item, file_findings, is_kept
from data.folder import VALID_NAMES, Layout, find_layout
from data.gather import Progress, gather_facts
from data.names import name_findings
from data.pixels import Pixels
from data.split import drawn_split
from data.table import read_table


@dataclass
class Audit:
    """What was found.

    ``layout`` is of names alone; ``items`` are its files with their facts, ``kept`` those that are used;
    ``findings`` begin with what matters most; ``skipped`` are all files that are left out, with the reason.
    """

    source: str
    layout: Layout
    items: list[Item]
    kept: list[Item]
    findings: list[Finding]
    skipped: list[tuple[Path, str]]


def audit(
    source: str | Path | None,
    *,
    csv: str | Path | None = None,
    csv_columns: Sequence[str] | None = None,
    allow_truncated: bool = False,
    drop_leaks: bool = False,
    held_out: Sequence[str] = VALID_NAMES,
    remember: bool = True,
    progress: Progress | None = None,
    pixels: Pixels | None = None,
) -> Audit:
    """Look at every file of a data set.

    Parameters
    ----------
    source
        A folder of images; with `csv`, where its paths start from, or None for the CSV's own folder.
    csv, csv_columns
        Labels from a CSV file instead of folders, see `data.table.read_table`.
    allow_truncated
        Keep images that end early, with what there is of them.
    drop_leaks
        Leave out of train what is in validation too.
    held_out
        The names of a split to validate on; the first that exists is used.
    remember
        Use the cache of facts.
    progress
        Called as ``progress(done, total)``.
    pixels
        Gets every image that is decoded, so that a training need not decode it again.

    Raises
    ------
    DataError
        There is no data set: a missing folder, an unknown layout, a CSV that cannot be read. What is wrong with
        the data themselves is a finding.
    """
    if csv is not None:
        root = Path(csv).parent if source is None else Path(source)
        layout = read_table(Path(csv), root, csv_columns, held_out)
    else:
        root = Path(source)
        layout = find_layout(root, held_out)
    entries = [
        (path, split, label)
        for split, classes in layout.splits.items()
        for label, files in classes.items()
        for path in files
    ]
    keep = None
    if pixels is not None:
        pixels.trained = {path for path, split, _ in entries if split != "valid"}
        keep = pixels.keep
    facts = gather_facts([path for path, _, _ in entries], remember=remember, progress=progress, keep=keep)
    if pixels is not None and pixels.store is not None:
        pixels.store.save()
    items = [Item(*entry, seen) for entry, seen in zip(entries, facts)]
    readable = [item for item in items if is_kept(item.facts, allow_truncated)]
    leaked = leaks(readable) if drop_leaks else {}
    kept = [item for item in readable if item.split != "train" or item.path not in leaked]
    findings = [Finding("layout", "warning", notice) for notice in layout.notices]
    findings += file_findings(items, allow_truncated=allow_truncated)
    findings += duplicate_findings(readable, drop_leaks=drop_leaks)
    findings += name_findings(layout.splits)
    findings += balance_findings(kept)
    findings += _nested(layout)
    findings += _unusable(root, items, kept) or _mostly_unreadable(items, readable)
    findings += _class_findings(root if csv is None else Path(csv), layout, kept)
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    skipped = layout.skipped + [pair for finding in findings if finding.severity == "skipped" for pair in finding.files]
    return Audit(str(source if csv is None else csv), layout, items, kept, findings, skipped)


def _nested(layout: Layout) -> list[Finding]:
    if not layout.nested:
        return []
    files = tuple((path, f"in {path.parent.name}/") for path in layout.nested)
    message = f"{counted(len(files), 'file')} in folders below their class's, counted, the first {files[0][0]}"
    return [Finding("nested", "note", message, files)]


# What makes training impossible is a finding too, so that `app.audit` can say the rest as well.


def _unusable(root: Path, items: list[Item], kept: list[Item]) -> list[Finding]:
    if any(item.split == "train" for item in kept):
        return []
    first = next(item for item in items if item.split == "train")
    if not first.facts.reason:
        return [Finding("classes", "error", f"{root}: each of its training images is in validation too")]
    message = f"{root}: none of its training images can be read, the first {first.path}: {first.facts.reason}"
    return [Finding("classes", "error", message)]


def _class_findings(root: Path, layout: Layout, kept: list[Item]) -> list[Finding]:
    train = [item for item in kept if item.split == "train"]
    if not train:
        return []
    # Where validation is drawn from train later, it has train's classes.
    valid = [item for item in kept if item.split == "valid"] if "valid" in layout.splits else train
    try:
        notices = check_classes(root, list(layout.splits["train"]), sorted({item.label for item in train}), valid)
        if valid is train:
            drawn_split(train, valid_pct=0.5, seed=0)  # whether there is one depends on neither
    except DataError as error:
        return [Finding("classes", "error", str(error))]
    return [Finding("classes", "warning", notice) for notice in notices]


def _mostly_unreadable(items: list[Item], readable: list[Item]) -> list[Finding]:
    files, good = Counter(item.label for item in items), Counter(item.label for item in readable)
    left_out = set(items).difference(readable)
    findings = []
    for label, count in files.items():
        if 2 * good[label] < count:
            first = next(item for item in items if item.label == label and item in left_out)
            message = (
                f"class {label!r}: {count - good[label]} of {count} files cannot be read, more than half of it, "
                f"the first {first.path}: {first.facts.reason}"
            )
            findings.append(Finding("unreadable-class", "error", message))
    return findings
