"""A row per epoch on standard output; no bar where there is no terminal.

python -m pytest tests/callbacks/test_console.py
"""

from callbacks.console import HEADER, Console
from callbacks.timing import EpochTimer


def test_one_header_and_a_row_per_epoch(make_learner, capsys):
    learn = make_learner(cbs=[EpochTimer(), Console()])
    learn.validate()
    learn.fit(2)
    learn.get_preds()
    learn.fit(1)
    out, err = capsys.readouterr()
    header, *rows = out.splitlines()
    assert header == HEADER
    assert [row.split()[0] for row in rows] == ["1", "2", "3"]
    assert [row.endswith("  (set-up time included)") for row in rows] == [True, False, False]
    assert err == ""


def test_numbers_stand_under_their_names(make_learner, capsys):
    learn = make_learner(cbs=[EpochTimer(), Console()])
    learn.fit(2)
    header, *rows = capsys.readouterr().out.splitlines()
    for row, kept in zip(rows, learn.epoch_timer.rows):
        end = header.index("valid_loss") + len("valid_loss")
        assert row[:end].endswith(f" {kept['valid_loss']:.4f}")
        assert row.removesuffix("  (set-up time included)").rindex(".") < len(header)


def test_no_accuracy_is_said(make_learner, capsys):
    make_learner(metrics=None, cbs=[EpochTimer(), Console()]).fit(1)
    assert capsys.readouterr().out.splitlines()[1].split()[4] == "nan"
