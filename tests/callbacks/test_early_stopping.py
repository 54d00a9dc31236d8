"""A run ends when its epochs get no better.

python -m pytest tests/callbacks/test_early_stopping.py
"""

import pytest
from fastai.callback.core import Callback

from callbacks.best import KeepBest
from callbacks.early_stopping import EarlyStopping
from callbacks.timing import EpochTimer


class Script(Callback):
    """Writes the given losses over those of the epochs."""

    order = 57

    def __init__(self, losses):
        self.losses = iter(losses)

    def after_epoch(self):
        if self.learn.epoch_timer.row is not None:
            self.learn.epoch_timer.row["valid_loss"] = next(self.losses)


@pytest.fixture
def learner(make_learner):
    def learner(losses, patience):
        return make_learner(cbs=[EpochTimer(), Script(losses), KeepBest("loss"), EarlyStopping(patience)])

    return learner


@pytest.mark.parametrize(
    ("losses", "patience", "epochs"),
    [([5, 4, 4, 4, 3, 2], 2, 4), ([5, 4, 4, 3, 3, 3], 3, 6), ([1, 2, 2, 2, 2, 2], 1, 2), ([6, 5, 4, 3, 2, 1], 1, 6)],
)
def test_it_waits_as_long_as_it_is_told(learner, losses, patience, epochs):
    learn = learner(losses, patience)
    learn.fit(6)
    assert len(learn.epoch_timer.rows) == epochs
    assert learn.early_stopping.stopped == (epochs < 6)


def test_it_counts_over_all_fits(learner):
    learn = learner([1, 2, 2, 2, 2], 3)
    learn.fit(2)
    assert not learn.early_stopping.stopped
    learn.fit(4)
    assert len(learn.epoch_timer.rows) == 4
    assert learn.early_stopping.stopped


def test_before_the_first_epoch_nothing_is_stopped(learner):
    assert not learner([], 1).early_stopping.stopped
