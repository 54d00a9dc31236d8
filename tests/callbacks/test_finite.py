"""A loss that is no longer a number stops the training.

python -m pytest tests/callbacks/test_finite.py
"""

import pytest
import torch
from fastai.callback.core import Callback

from callbacks.best import KeepBest
from callbacks.finite import NonFiniteLoss, StopOnNonFinite
from callbacks.timing import EpochTimer


class Spoil(Callback):
    """Makes a weight NaN after the given step of the run."""

    def __init__(self, step):
        self.step = step

    def after_step(self):
        if self.learn.epoch_timer.run_step + 1 == self.step:
            self.model[0].weight.data[0, 0] = torch.nan


@pytest.mark.parametrize(
    ("step", "part", "epoch"),
    [
        (1, "training", 1),
        (4, "validation", 1),  # the last step of the epoch: no training loss shows it
        (6, "training", 2),
        (8, "validation", 2),
    ],
)
def test_it_stops_in_the_epoch_in_which_it_happened(make_learner, step, part, epoch):
    keep = KeepBest()
    learn = make_learner(cbs=[EpochTimer(), Spoil(step), StopOnNonFinite(), keep])
    with pytest.raises(NonFiniteLoss) as raised:
        learn.fit(5)
    assert str(raised.value).endswith(f"the {part} loss became nan in epoch {epoch}: lower --lr, or check the images")
    assert learn.epoch_timer.run_epoch == epoch
    assert (keep.row or {"epoch": 0})["epoch"] == epoch - 1  # a spoiled epoch is not kept


def test_the_rate_finder_may_explode(make_learner):
    learn = make_learner(cbs=[EpochTimer(), StopOnNonFinite()])
    learn.lr_find(start_lr=1e30, end_lr=1e38, num_it=8, stop_div=False, show_plot=False, suggest_funcs=None)
    learn.fit(1)
    assert learn.epoch_timer.run_epoch == 1


def test_a_long_epoch_is_not_waited_for(make_learner):
    learn = make_learner(cbs=[EpochTimer(), Spoil(2), StopOnNonFinite()])
    learn.dls.train.bs = 2  # 12 steps, looked at after the tenth
    with pytest.raises(NonFiniteLoss):
        learn.fit(1)
    assert learn.epoch_timer.run_step == 10


def test_it_can_look_at_the_end_of_an_epoch_alone(make_learner):
    learn = make_learner(cbs=[EpochTimer(), Spoil(2), StopOnNonFinite(every=None)])
    learn.dls.train.bs = 2
    with pytest.raises(NonFiniteLoss, match="the training loss became nan in epoch 1"):
        learn.fit(1)
    assert learn.epoch_timer.run_step == 12
