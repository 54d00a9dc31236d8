"""Batch norms that keep their statistics, in a body that is frozen and in one that is not.

python -m pytest tests/callbacks/test_fixed_norm.py
"""

import pytest
import torch
from torch import nn

from callbacks.fixed_norm import FixedBatchNorm


@pytest.fixture
def learn(make_learner):
    learn = make_learner()
    learn.model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
    learn.train_bn = False
    learn.splitter = lambda model: [list(model[:2].parameters()), list(model[2].parameters())]
    return learn


def body(learn):
    return {name: tensor.clone() for name, tensor in learn.model[:2].state_dict().items()}


def test_a_frozen_body_is_constant(learn):
    before = body(learn)
    learn.freeze()
    learn.fit(2, 0.1, cbs=FixedBatchNorm())
    assert all(torch.equal(tensor, before[name]) for name, tensor in body(learn).items())
    assert learn.model[0].weight.grad is None


def test_unfrozen_its_weights_are_trained_and_its_statistics_kept(learn):
    before = body(learn)
    learn.fit(2, 0.1, cbs=FixedBatchNorm())
    changed = {name for name, tensor in body(learn).items() if not torch.equal(tensor, before[name])}
    assert changed == {"0.weight", "0.bias", "1.weight", "1.bias"}


def test_without_it_statistics_move_though_the_body_is_frozen(learn):
    before = body(learn)
    learn.freeze()
    learn.fit(1, 0.1)
    assert not torch.equal(body(learn)["1.running_mean"], before["1.running_mean"])


def test_the_next_fit_without_it_trains_them_again(learn):
    learn.fit(1, 0.1, cbs=FixedBatchNorm())
    before = body(learn)
    learn.fit(1, 0.1)
    assert not torch.equal(body(learn)["1.running_mean"], before["1.running_mean"])
