"""A run in one line: what was trained, and how far it came, read from its folder.

found = read_run(Path("runs/20260101-120000-resnet18-64"))
print(found.accuracy, found.seconds)
"""

import csv
import re
from pathlib import Path
from typing import Any, NamedTuple

STAMP = re.compile(r"(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)-")
SETTINGS = "args.yaml"
NEEDED = ("epoch", "accuracy", "valid_loss", "f1", "train_seconds", "valid_seconds")
BEST = {
    "accuracy": lambda row: (row["accuracy"], -row["valid_loss"]),
    "f1": lambda row: (row["f1"], -row["valid_loss"]),
    "loss": lambda row: (-row["valid_loss"], row["accuracy"]),
}


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


def read_run(folder: Path) -> Run:
    """The line of one run.

    Raises
    ------
    OSError, ValueError
        It has no settings, no finished epoch, or holds something else.
    """
    settings, rows = _settings(folder / SETTINGS), _rows(folder / "results.csv")
    try:
        arch, size, best = settings["arch"], settings["img_size"], BEST[settings.get("monitor", "accuracy")]
    except (KeyError, TypeError) as error:
        raise ValueError(f"its {SETTINGS} is damaged") from error
    if not (isinstance(arch, str) and isinstance(size, int)):
        raise ValueError(f"its {SETTINGS} is damaged")
    chosen = max(rows, key=best)
    stamp = STAMP.match(folder.name)
    return Run(
        date="{}-{}-{} {}:{}:{}".format(*stamp.groups()) if stamp else "",
        arch=arch,
        size=size,
        epochs=int(rows[-1]["epoch"]),
        accuracy=chosen["accuracy"],
        loss=chosen["valid_loss"],
        seconds=sum(row["train_seconds"] + row["valid_seconds"] for row in rows),
        folder=str(folder),
    )


def _settings(file: Path) -> dict[str, Any]:
    import yaml

    try:
        settings = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ValueError(f"its {SETTINGS} is damaged") from error
    if not isinstance(settings, dict):
        raise ValueError(f"its {SETTINGS} holds no settings")
    return settings


def _rows(file: Path) -> list[dict[str, float]]:
    """The epochs, each with all `NEEDED` columns; whatever else is in the file is left out."""
    try:
        with file.open(newline="", encoding="utf-8") as stream:
            rows = [{name: float(row[name]) for name in NEEDED} for row in csv.DictReader(stream)]
        sound = all(row["epoch"].is_integer() for row in rows)
    except (csv.Error, ValueError, KeyError, TypeError) as error:  # TypeError: a row that ends early
        raise ValueError(f"its {file.name} is damaged") from error
    if not sound:
        raise ValueError(f"its {file.name} is damaged")
    if not rows:
        raise ValueError("no epoch has ended")
    return rows
