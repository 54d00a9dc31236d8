"""List the runs of a folder, the best first; results alone on standard output.

python -m app.runs
python -m app.runs runs/ --sort date --format json
"""

import csv
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from app.errors import UsageError, run
from app.parser import Parser
from app.terminal import columns, left, right

STAMP = re.compile(r"(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)-")


class Run(NamedTuple):
    """One line: what was trained, and how far it came. ``accuracy`` and ``loss`` are those of the epoch that was best
    by the run's ``--monitor``, on validation images; ``seconds`` went into all epochs, the probe's included."""

    date: str
    arch: str
    size: int
    epochs: int
    accuracy: float
    loss: float
    seconds: float
    folder: str


# The best, or the latest, first.
ORDERS = {
    "accuracy": lambda found: (-found.accuracy, found.loss),
    "loss": lambda found: (found.loss, -found.accuracy),
    "seconds": lambda found: found.seconds,
    "arch": lambda found: (found.arch, found.size, -found.accuracy),
}
BEST = {
    "accuracy": lambda row: (row["accuracy"], -row["valid_loss"]),
    "f1": lambda row: (row["f1"], -row["valid_loss"]),
    "loss": lambda row: (-row["valid_loss"], row["accuracy"]),
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
    runs = []
    for path in sorted((path for path in folder.iterdir() if path.is_dir()), reverse=True):
        try:
            runs.append(read_run(path))
        except (OSError, ValueError, KeyError, TypeError) as error:
            print(f"passed over: {path} ({_why(error)})", file=sys.stderr)
    if args.sort != "date":  # the latest is first already
        runs.sort(key=ORDERS[args.sort])
    if not runs:
        print(f"no runs in {folder}", file=sys.stderr)
    FORMATS[args.format](runs, sys.stdout)
    return 0


def read_run(folder: Path) -> Run:
    """The line of one run.

    Raises
    ------
    OSError, ValueError, KeyError, TypeError
        It has no settings, no finished epoch, or holds something else.
    """
    import yaml

    try:
        settings = yaml.safe_load((folder / "args.yaml").read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError("its args.yaml is damaged") from error
    if not isinstance(settings, dict):
        raise ValueError("its args.yaml holds no settings")
    with (folder / "results.csv").open(newline="", encoding="utf-8") as stream:
        found = list(csv.DictReader(stream))
    rows = [{key: float(value) for key, value in row.items() if key != "phase" and value} for row in found]
    if not rows:
        raise ValueError("no epoch has ended")
    best = max(rows, key=BEST[settings.get("monitor", "accuracy")])
    stamp = STAMP.match(folder.name)
    return Run(
        date="{}-{}-{} {}:{}:{}".format(*stamp.groups()) if stamp else "",
        arch=str(settings["arch"]),
        size=int(settings["img_size"]),
        epochs=int(rows[-1]["epoch"]),
        accuracy=best["accuracy"],
        loss=best["valid_loss"],
        seconds=sum(row["train_seconds"] + row["valid_seconds"] for row in rows),
        folder=str(folder),
    )


def _why(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return f"it has no {Path(error.filename).name}"
    return " ".join(str(error).split())[:100] or type(error).__name__


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
    from app.outputs import printable

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
