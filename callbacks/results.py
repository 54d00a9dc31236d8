"""Append one line per epoch to ``results.csv``, at once, so that a run that dies leaves its numbers.

learn.fine_tune(3, cbs=[EpochTimer(), ResultsCSV("runs/today/results.csv")])
"""

import csv
from pathlib import Path
from typing import Any

from callbacks.timing import RowCallback

COLUMNS = (
    "epoch",
    "phase",
    "train_loss",
    "valid_loss",
    "accuracy",
    "train_seconds",
    "valid_seconds",
    "images_per_second",
    "data_wait",
    "warmup",
)


class ResultsCSV(RowCallback):
    """Needs `callbacks.timing.EpochTimer` on the same Learner. The header is written with the first row."""

    def __init__(self, path: str | Path):
        self.path = Path(path)

    def on_row(self, row: dict[str, Any]) -> None:
        new = not self.path.exists()
        with self.path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS, restval="", extrasaction="ignore")
            if new:
                writer.writeheader()
            writer.writerow({name: _cell(value) for name, value in row.items()})


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return int(value)
    return f"{value:.6g}" if isinstance(value, float) else value
