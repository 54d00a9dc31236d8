"""results.csv: one line per epoch, at once.

python -m pytest tests/callbacks/test_results.py
"""

import csv

from fastai.callback.core import Callback

from callbacks.results import COLUMNS, ResultsCSV
from callbacks.timing import EpochTimer


def read(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_line_per_epoch_over_all_fits(make_learner, tmp_path):
    file = tmp_path / "results.csv"
    learn = make_learner(cbs=[EpochTimer(), ResultsCSV(file)])
    learn.fit(2)
    learn.fit(1)
    rows = read(file)
    assert tuple(rows[0]) == COLUMNS
    assert [row["epoch"] for row in rows] == ["1", "2", "3"]
    assert [row["warmup"] for row in rows] == ["1", "0", "0"]
    for row, kept in zip(rows, learn.epoch_timer.rows):
        assert row["valid_loss"] == f"{kept['valid_loss']:.6g}"


def test_a_line_is_there_when_its_epoch_has_ended(make_learner, tmp_path):
    file, seen = tmp_path / "results.csv", []

    class Look(Callback):
        order = 61

        def after_epoch(self):
            seen.append(len(read(file)))

    make_learner(cbs=[EpochTimer(), ResultsCSV(file), Look()]).fit(3)
    assert seen == [1, 2, 3]


def test_what_is_not_measured_is_empty(make_learner, tmp_path):
    file = tmp_path / "results.csv"
    make_learner(metrics=None, cbs=[EpochTimer(), ResultsCSV(file)]).fit(1)
    assert read(file)[0]["accuracy"] == ""


def test_without_training_no_file(make_learner, tmp_path):
    learn = make_learner(cbs=[EpochTimer(), ResultsCSV(tmp_path / "results.csv")])
    learn.validate()
    assert not (tmp_path / "results.csv").exists()
