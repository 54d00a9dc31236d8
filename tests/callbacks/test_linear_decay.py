"""Rates that fall in a straight line, each group's to its own end.

python -m pytest tests/callbacks/test_linear_decay.py
"""

import pytest
import torch
from fastai.callback.core import Callback
from fastai.data.core import DataLoaders
from fastai.data.load import DataLoader
from fastai.learner import Learner
from fastai.optimizer import SGD
from torch import nn

from callbacks.linear_decay import LinearDecay


class Watch(Callback):
    order = 100

    def before_fit(self):
        self.rates, self.weights = [], []

    def before_batch(self):
        if self.training:
            self.rates.append([hyper["lr"] for hyper in self.opt.hypers])

    def after_batch(self):
        if self.training:
            self.weights.append(self.model[0].weight.detach().clone())


def test_rates_and_parameters_at_rest():
    items = [(torch.randn(3), torch.randn(1)) for _ in range(4)]
    loaders = DataLoaders(*(DataLoader(items, bs=2, num_workers=0) for _ in range(2)))
    network = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))
    learn = Learner(
        loaders,
        network,
        nn.MSELoss(),
        opt_func=SGD,
        splitter=lambda net: [[*net[0].parameters()], [*net[1].parameters()]],
    )
    watch = Watch()
    with learn.no_bar(), learn.no_logging():
        learn.fit(4, lr=[0.8, 0.4], cbs=[LinearDecay([0.8, 0.4], [0.5, 1]), watch])
    first, second = zip(*watch.rates)
    assert first == pytest.approx([0.8, 0.6, 0.4, 0.2, 0, 0, 0, 0])
    assert second == pytest.approx([0.4 * (1 - step / 8) for step in range(8)])
    assert not torch.equal(watch.weights[2], watch.weights[3])
    assert all(torch.equal(weight, watch.weights[3]) for weight in watch.weights[4:])
    assert network[0].weight.grad is None
    learn.unfreeze()  # the next phase trains them again
    assert network[0].weight.requires_grad
