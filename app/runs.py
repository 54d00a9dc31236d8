"""List the runs of a folder, the best first; results alone on standard output.

python -m app.runs
python -m app.runs runs/ --sort date --format json
"""

import csv
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from app.errors import UsageError, run
from app.outputs import printable
from app.parser import Parser
from app.run_line import SETTINGS, Run, read_run
from app.terminal import columns, left, right

# The best, or the latest, first.
ORDERS = {
    "accuracy": lambda found: (-found.accuracy, found.loss),
    "loss": lambda found: (found.loss, -found.accuracy),
    "seconds": lambda found: found.seconds,
    "arch": lambda found: (found.arch, found.size, -found.accuracy),
}


def build_parser() -> Parser:
    """The flags of ``app.runs``."""
    parser = Parser(
        prog="python -m app.runs",
        description="List the runs of a folder, the best first.",
        epilog="example: python -m app.runs --sort date",
    )
    add = parser.add_argument
    add("folder", nargs="?", default="runs", metavar="DIR", help="where app.train wrote (default: runs)")
    add(
        "--sort", choices=("accuracy", "loss", "date", "seconds", "arch"), default="accuracy", help="order of the lines"
    )
    add("--format", choices=("table", "json", "csv"), default="table", help="form of the output")
    return parser


def main(argv: list[str]) -> int:
    """Read each run's settings and results; a folder that has none is named and passed over."""
    args = build_parser().parse_args(argv)
    folder = Path(args.folder)
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder: give that of app.train --output")
    if (folder / SETTINGS).exists():
        above = folder.parent if folder.name not in ("", "..") else folder.resolve().parent
        raise UsageError(f"{folder} is one run: give the folder that holds it, {above}")
    runs, passed = [], []
    for path in sorted((path for path in folder.iterdir() if path.is_dir()), reverse=True):
        try:
            runs.append(read_run(path))
        except (OSError, ValueError) as error:
            passed.append(f"passed over: {path} ({_why(error)})")
    if args.sort != "date":  # the latest is first already
        runs.sort(key=ORDERS[args.sort])
    if not next(folder.glob(f"*/{SETTINGS}"), None):  # of other folders there is nothing to be said
        deeper = next((path.parents[1] for path in folder.glob(f"*/*/{SETTINGS}")), None)
        passed = [f"no runs in {folder}: give {deeper or 'the folder of app.train --output'}"]
    elif not runs:
        passed.append(f"no finished runs in {folder}")
    for line in passed:
        print(printable(line), file=sys.stderr)
    FORMATS[args.format](runs, sys.stdout)
    return 0


def _why(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return f"it has no {Path(error.filename).name}"
    return error.strerror or "it cannot be read" if isinstance(error, OSError) else str(error)


def _table(runs: Sequence[Run], stream: TextIO) -> None:
    lines = [Run._fields, *(_texts(found) for found in runs)]
    widths = [max(columns(line[column]) for line in lines) for column in range(len(Run._fields))]
    for line in lines:
        cells = [
            left(text, width) if name in ("date", "arch", "folder") else right(text, width)
            for name, text, width in zip(Run._fields, line, widths)
        ]
        stream.write("  ".join(cells).rstrip() + "\n")


def _texts(found: Run) -> list[str]:
    figures = {"accuracy": f"{found.accuracy:.4f}", "loss": f"{found.loss:.4f}", "seconds": f"{found.seconds:.0f}"}
    return [printable(str(value)) for value in (found._asdict() | figures).values()]


def _json(runs: Sequence[Run], stream: TextIO) -> None:
    content: list[dict[str, Any]] = [found._asdict() for found in runs]
    stream.write(json.dumps(content, indent=2) + "\n")


def _csv(runs: Sequence[Run], stream: TextIO) -> None:
    csv.writer(stream, lineterminator="\n").writerows([Run._fields, *runs])


FORMATS = {"table": _table, "json": _json, "csv": _csv}


if __name__ == "__main__":
    sys.exit(run(main))
