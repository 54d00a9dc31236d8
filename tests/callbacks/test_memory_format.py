"""Channels last while fastai runs the model, contiguous before and after, and the same numbers."""

import copy
import warnings

import pytest
import torch
from fastai.callback.core import Callback
from fastai.data.core import DataLoaders
from fastai.learner import Learner
from fastai.optimizer import SGD
from torch import nn

from callbacks.memory_format import ChannelsLast


class Seen(Callback):
    order = 95

    def __init__(self):
        self.notes, self.fails = set(), False

    def after_pred(self):
        self.notes.add(_is_last(self.learn.xb[0]))
        self.notes.add(_is_last(self.learn.model[0].weight))
        if self.fails:
            raise RuntimeError("as asked")


def _is_last(tensor):
    return tensor.is_contiguous(memory_format=torch.channels_last) and not tensor.is_contiguous()


@pytest.fixture
def learn():
    torch.manual_seed(0)
    data = [(torch.randn(3, 8, 8), torch.tensor(i % 2)) for i in range(8)]
    loaders = DataLoaders.from_dsets(data, data, bs=4, shuffle=False, device=torch.device("cpu"))
    net = nn.Sequential(nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 2))
    learn = Learner(loaders, net, loss_func=nn.CrossEntropyLoss(), opt_func=SGD)
    learn.remove_cb(learn.progress)
    learn.logger = lambda *_: None
    return learn


@pytest.mark.parametrize("run", ["fit", "validate", "get_preds"])
@pytest.mark.parametrize("fails", [False, True])
def test_only_while_it_runs(learn, run, fails):
    seen = Seen()
    seen.fails = fails
    arguments = (1,) if run == "fit" else ()
    if fails:
        with pytest.raises(RuntimeError, match="as asked"):
            getattr(learn, run)(*arguments, cbs=[ChannelsLast(), seen])
    else:
        getattr(learn, run)(*arguments, cbs=[ChannelsLast(), seen])
    assert seen.notes == {True}
    assert all(parameter.is_contiguous() for parameter in learn.model.parameters())


def test_trains_the_same_weights(learn):
    plain = copy.deepcopy(learn.model)
    parameters = list(learn.model.parameters())
    learn.create_opt()
    learn.dls.train.drop_last, learn.dls.train.shuffle = False, False
    learn.fit(2, 1e-2, cbs=ChannelsLast())
    assert all(now is then for now, then in zip(learn.model.parameters(), parameters))
    last = copy.deepcopy(learn.model)
    learn.model = plain
    learn.opt = None
    learn.fit(2, 1e-2)
    for ours, theirs in zip(last.parameters(), plain.parameters()):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_gradients_of_an_earlier_fit_are_laid_out_too(learn):
    """torch warns where a gradient and its parameter differ in layout."""
    learn.fit(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learn.fit(1, cbs=ChannelsLast())
    assert all(parameter.grad.is_contiguous() for parameter in learn.model.parameters())
