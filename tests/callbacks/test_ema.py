"""The average of the weights: its values, where it is to be seen, and that the training does not notice.

python -m pytest tests/callbacks/test_ema.py
"""

import pytest
import torch
from fastai.callback.core import Callback
from torch import nn

from callbacks.accumulate import Accumulate
from callbacks.autocast import Autocast
from callbacks.best import KeepBest
from callbacks.ema import AveragedWeights
from callbacks.timing import EpochTimer


class Watch(Callback):
    """Copies of the weights at the start, after each step, in validation, and when the epoch has ended."""

    order = 64

    def before_fit(self):
        self.start, self.steps, self.validated, self.ended = self.copy(), [], [], []

    def after_step(self):
        self.steps.append(self.copy())

    def after_validate(self):
        self.validated.append(self.copy())

    def after_epoch(self):
        self.ended.append(self.copy())

    def copy(self):
        return {name: value.clone() for name, value in self.learn.model.state_dict().items()}


def equal(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.fixture
def make(make_learner):
    """A Learner with a batch norm."""

    def make(cbs):
        learn = make_learner(cbs=cbs)
        learn.model.insert(1, nn.BatchNorm1d(8))
        return learn

    return make


@pytest.mark.parametrize("decay", [0.15, 0.999])
def test_it_is_the_moving_average_of_weights_and_statistics(make, decay):
    watch, averaged = Watch(), AveragedWeights(decay)
    make([EpochTimer(), averaged, watch]).fit(1, 0.1)
    expected = {name: value.double() for name, value in watch.start.items()}
    keeps = [0.1, 2 / 11, 3 / 12, 4 / 13] if decay == 0.999 else [0.1, 0.15, 0.15, 0.15]
    for keep, step in zip(keeps, watch.steps, strict=True):
        expected = {name: keep * expected[name] + (1 - keep) * step[name].double() for name in expected}
    expected["1.num_batches_tracked"] = torch.tensor(4)
    for name, value in averaged.weights.items():
        assert torch.allclose(value.double(), expected[name].double(), atol=1e-6), name
    assert averaged.weights["1.num_batches_tracked"].dtype == torch.int64
    assert not torch.allclose(averaged.weights["1.running_mean"], watch.steps[-1]["1.running_mean"])


def test_the_average_is_validated_and_kept_and_the_trained_weights_go_on(make):
    watch, averaged, best = Watch(), AveragedWeights(0.9), KeepBest("loss")
    learn = make([EpochTimer(), averaged, best, watch])
    learn.fit(1, 0.1)
    assert equal(watch.validated[0], averaged.weights)
    assert equal(watch.ended[0], watch.steps[-1])
    assert equal(dict(learn.model.state_dict()), watch.steps[-1])
    assert equal(best.weights, averaged.weights)
    best.restore()
    loss, _ = learn.validate()
    assert loss == pytest.approx(best.row["valid_loss"], rel=1e-6)


def test_it_moves_when_the_optimizer_steps(make):
    averaged = AveragedWeights(0.9)
    make([EpochTimer(), averaged, Accumulate(12)]).fit(1)
    assert averaged.steps == 2


def test_with_bf16_it_is_of_float32_weights(make):
    averaged = AveragedWeights(0.9)
    make([EpochTimer(), averaged, Autocast("bf16")]).fit(1)
    assert {value.dtype for value in averaged.weights.values()} == {torch.float32, torch.int64}


def test_after_an_exception_in_validation_the_trained_weights_come_back(make):
    class Fails(Callback):
        order = 70

        def before_validate(self):
            raise OSError("gone")

    watch, averaged, fails = Watch(), AveragedWeights(0.9), Fails()
    learn = make([EpochTimer(), averaged, watch, fails])
    with pytest.raises(OSError, match="gone"):
        learn.fit(1, 0.1)
    averaged.restore()
    assert equal(dict(learn.model.state_dict()), watch.steps[-1])


@pytest.mark.parametrize("decay", [0, 1, float("nan")])
def test_a_decay_that_is_none(decay):
    with pytest.raises(ValueError, match=f"^decay {decay} is not between 0 and 1$"):
        AveragedWeights(decay)
