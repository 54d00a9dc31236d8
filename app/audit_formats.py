"""The forms in which ``app.audit`` writes what it found: a table for people, JSON for programs.

FORMATS["json"](found, sys.stdout)
"""

import json
from collections import Counter
from typing import TextIO

from app.outputs import printable
from app.terminal import columns, left
from data.audit import Audit
from data.counting import counted

LISTED_FILES = 10  # files under a finding in the table; JSON has all of them


def write_table(found: Audit, stream: TextIO) -> None:
    """Images per class, then each finding with its files."""
    rows = [("class", *found.layout.splits, "left out")]
    rows += [
        (printable(row["class"]), *map(str, row["images"].values()), str(row["left_out"])) for row in _classes(found)
    ]
    widths = [max(map(columns, column)) for column in zip(*rows)]
    lines = [f"{found.source} ({found.layout.sentence})", ""]
    for name, *counts in rows:
        cells = [left(name, widths[0]), *(count.rjust(width) for count, width in zip(counts, widths[1:]))]
        lines.append("  ".join(cells))
    lines += ["", summary(found)]
    for finding in found.findings:
        lines += ["", f"{finding.severity}: {finding.message}"]
        lines += [f"  {path}: {remark}" for path, remark in finding.files[:LISTED_FILES]]
        if len(finding.files) > LISTED_FILES:
            lines.append(f"  and {len(finding.files) - LISTED_FILES} more (--format json has all)")
    stream.writelines(printable(line) + "\n" for line in lines)  # names may hold anything


def write_json(found: Audit, stream: TextIO) -> None:
    """One object: source, layout, counts per class, findings, and the files left out."""
    content = {
        "source": found.source,
        "layout": found.layout.sentence,
        "files": len(found.items),
        "kept": len(found.kept),
        "classes": _classes(found),
        "findings": [
            finding._asdict() | {"files": [{"file": str(path), "remark": remark} for path, remark in finding.files]}
            for finding in found.findings
        ],
        "skipped": [{"file": str(path), "reason": reason} for path, reason in found.skipped],
    }
    stream.write(json.dumps(content, indent=2) + "\n")  # in ASCII, which holds any file's name


FORMATS = {"table": write_table, "json": write_json}


def summary(found: Audit) -> str:
    """One line that counts."""
    counts = Counter(finding.severity for finding in found.findings)
    said = [counted(counts[name], name) for name in ("error", "warning", "note") if counts[name]]
    files = len(found.items) + len(found.layout.skipped)
    return ", ".join([f"{counted(files, 'file')}: {len(found.kept)} kept, {len(found.skipped)} left out", *said])


def _classes(found: Audit) -> list[dict]:
    images = Counter((item.label, item.split) for item in found.kept)
    files = Counter(item.label for item in found.items)
    rows = []
    for label in sorted(files):
        counts = {split: images[label, split] for split in found.layout.splits}
        rows.append({"class": label, "images": counts, "left_out": files[label] - sum(counts.values())})
    return rows
