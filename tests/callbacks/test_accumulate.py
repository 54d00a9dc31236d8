"""Accumulated small batches are the large batch, and fits do not leak gradients into one another."""

import copy

import torch
from fastai.callback.core import Callback
from fastai.data.core import DataLoaders
from fastai.learner import Learner
from fastai.optimizer import SGD
from torch import nn

from callbacks.accumulate import Accumulate


def weights(model, batch_size, cbs=(), fits=1):
    generator = torch.Generator().manual_seed(0)
    data = [(torch.randn(4, generator=generator), torch.tensor(i % 2)) for i in range(24)]
    loaders = DataLoaders.from_dsets(data, data, bs=batch_size, device=torch.device("cpu"), shuffle=False)
    learn = Learner(loaders, copy.deepcopy(model), loss_func=nn.CrossEntropyLoss(), opt_func=SGD)
    learn.remove_cb(learn.progress)
    learn.logger = lambda *_: None
    for _ in range(fits):
        learn.fit(1, 0.1, cbs=list(cbs))
    return list(learn.model.parameters())


def test_two_batches_of_four_are_one_of_eight():
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    for small, large in zip(weights(model, 4, [Accumulate(8)]), weights(model, 8)):
        torch.testing.assert_close(small, large)


def test_what_is_left_over_is_dropped():
    """Three batches of 8 are one step of 16 and a half; fastai adds the half to the next fit."""
    left = []

    class Look(Callback):
        order = 90

        def before_fit(self):
            left.extend(p.grad.abs().sum().item() for p in self.learn.model.parameters() if p.grad is not None)

    torch.manual_seed(0)
    weights(nn.Linear(4, 2), 8, [Accumulate(16), Look()], fits=2)
    assert left == [0, 0]
