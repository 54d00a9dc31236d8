"""The best epoch's weights, over all fits.

python -m pytest tests/callbacks/test_best.py
"""

import pytest
import torch
from fastai.callback.core import Callback

from app.checkpoint_args import MONITORS
from callbacks.best import RANKS, KeepBest
from callbacks.timing import EpochTimer


class Script(Callback):
    """Writes the given (accuracy, valid_loss) over each epoch's row, and the epoch into the first weight."""

    order = 57  # between EpochTimer (55) and KeepBest (60)

    def __init__(self, numbers):
        self.numbers = iter(numbers)

    def after_epoch(self):
        row = self.learn.epoch_timer.row
        if row is not None:
            row["accuracy"], row["valid_loss"] = next(self.numbers)
            self.model[0].weight.data.fill_(row["epoch"])


@pytest.mark.parametrize(
    ("numbers", "best"),
    [
        ([(0.5, 1.0), (0.9, 1.0), (0.7, 0.1), (0.8, 0.2)], 2),
        ([(0.5, 1.0), (0.5, 0.5), (0.5, 0.7), (0.5, 0.5)], 2),  # of equals the lower loss, then the first
        ([(0.1, 1.0), (0.2, 1.0), (0.3, 1.0), (0.4, 9.0)], 4),
    ],
)
def test_the_best_of_two_fits_is_restored(make_learner, numbers, best):
    keep = KeepBest()
    learn = make_learner(cbs=[EpochTimer(), Script(numbers), keep])
    learn.fit(1)
    learn.fit(3)
    keep.restore()
    assert keep.row["epoch"] == best
    assert torch.equal(learn.model[0].weight, torch.full((8, 4), float(best)))


def test_before_the_first_epoch_the_model_stays_as_it_is(make_learner):
    keep = KeepBest()
    learn = make_learner(cbs=[EpochTimer(), keep])
    before = learn.model[0].weight.clone()
    keep.restore()
    assert keep.row is None
    assert torch.equal(learn.model[0].weight, before)


@pytest.mark.parametrize(("monitor", "best"), [("accuracy", 1), ("loss", 2), ("f1", 3)])
def test_what_is_monitored_tells_the_best(make_learner, monitor, best):
    class Scores(Callback):
        order = 57

        def after_epoch(self):
            row = self.learn.epoch_timer.row
            numbers = {"accuracy": [3, 1, 2], "valid_loss": [2, 1, 3], "f1": [2, 1, 3]}
            row.update({name: values[row["epoch"] - 1] for name, values in numbers.items()})

    keep = KeepBest(monitor)
    make_learner(cbs=[EpochTimer(), Scores(), keep]).fit(3)
    assert keep.row["epoch"] == best


def test_nothing_else_can_be_monitored():
    with pytest.raises(ValueError, match=r"^monitor 'recall' is none of accuracy, loss, f1$"):
        KeepBest("recall")


def test_the_names_of_the_flag():
    assert tuple(RANKS) == MONITORS
