"""One line per epoch in ``results.csv``, at once, so that a run that dies leaves its numbers.

learn.fine_tune(3, cbs=[EpochTimer(), ResultsCSV("runs/today/results.csv")])
"""

import csv
from pathlib import Path
from typing import Any

from callbacks.timing import RowCallback
from callbacks.whole_file import whole_file

COLUMNS = (
    "epoch",
    "phase",
    "train_loss",
    "valid_loss",
    "accuracy",
    "f1",
    "train_seconds",
    "valid_seconds",
    "images_per_second",
    "data_wait",
    "warmup",
)


class ResultsCSV(RowCallback):
    """Needs `callbacks.timing.EpochTimer` on the same Learner.

    All its rows are written each time: the file is whole at any moment, and after a resume has no epoch twice.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)

    def on_row(self, row: dict[str, Any]) -> None:
        self.write()

    def write(self) -> None:
        """Write the rows that `callbacks.timing.EpochTimer` has, in the place of whatever is there.

        Raises
        ------
        OSError
            The file cannot be written.
        """
        with whole_file(self.path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS, restval="", extrasaction="ignore")
            writer.writeheader()
            for kept in self.learn.epoch_timer.rows:
                writer.writerow({name: _cell(value) for name, value in kept.items()})


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return int(value)
    return f"{value:.6g}" if isinstance(value, float) else value
