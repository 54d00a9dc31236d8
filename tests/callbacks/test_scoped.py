"""Entered by fit, validate and get_preds; left by them, by an exception, and by taking the callback off."""

import copy
import pickle

import pytest
import torch
from fastai.callback.core import Callback
from fastai.data.core import DataLoaders
from fastai.learner import Learner
from torch import nn

from callbacks.scoped import CallLayer, ScopedCallback


class Noted(ScopedCallback):
    def __init__(self):
        self.notes = []

    def enter(self):
        self.notes.append("enter")

    def leave(self):
        self.notes.append("leave")


class Raising(Callback):
    order = 50

    def after_pred(self):
        raise RuntimeError("as asked")


@pytest.fixture
def learn():
    data = [(torch.randn(4), torch.tensor(0)) for _ in range(8)]
    loaders = DataLoaders.from_dsets(data, data, bs=4, device=torch.device("cpu"))
    learn = Learner(loaders, nn.Linear(4, 2), loss_func=nn.CrossEntropyLoss())
    learn.remove_cb(learn.progress)
    return learn


@pytest.mark.parametrize("run", ["fit", "validate", "get_preds"])
@pytest.mark.parametrize("kept", [True, False])
def test_enters_and_leaves_once(learn, run, kept):
    noted = Noted()
    arguments = (2,) if run == "fit" else ()
    with learn.no_logging():
        if kept:
            learn.add_cb(noted)
            getattr(learn, run)(*arguments)
        else:
            getattr(learn, run)(*arguments, cbs=[noted])
    assert noted.notes == ["enter", "leave"]


@pytest.mark.parametrize("run", ["fit", "validate", "get_preds"])
def test_leaves_after_an_exception(learn, run):
    noted = Noted()
    with pytest.raises(RuntimeError, match="as asked"), learn.no_logging():
        getattr(learn, run)(*((1,) if run == "fit" else ()), cbs=[noted, Raising()])
    assert noted.notes == ["enter", "leave"]


def test_kept_callback_is_left_by_restore_or_the_next_fit(learn):
    noted = Noted()
    learn.add_cb(noted)
    with pytest.raises(RuntimeError, match="as asked"), learn.no_logging():
        learn.fit(1, cbs=Raising())
    assert noted.notes == ["enter"]
    noted.restore()
    noted.restore()
    assert noted.notes == ["enter", "leave"]
    with pytest.raises(RuntimeError, match="as asked"), learn.no_logging():
        learn.fit(1, cbs=Raising())
    with learn.no_logging():
        learn.fit(1)
    assert noted.notes == ["enter", "leave"] * 3


def test_a_failing_enter_is_undone(learn):
    class Failing(Noted):
        def enter(self):
            super().enter()
            raise RuntimeError("half-way")

    failing = Failing()
    with pytest.raises(RuntimeError, match="half-way"):
        learn.fit(1, cbs=failing)
    assert failing.notes == ["enter", "leave"]


@pytest.mark.parametrize("first_off", [0, 1])
def test_layers_come_off_in_any_order(first_off):
    module, called = nn.Linear(2, 2), []

    def around(name):
        def call(inner, *args):
            called.append(name)
            return inner(*args)

        return call

    layers = [CallLayer(module, around("inner")), CallLayer(module, around("outer"))]
    for layer in layers:
        layer.put_on()
    module(torch.zeros(1, 2))
    assert called == ["outer", "inner"]
    layers[first_off].take_off()
    module(torch.zeros(1, 2))
    assert called[2:] == [("outer", "inner")[first_off]]
    layers[1 - first_off].take_off()
    assert module._compiled_call_impl is None


def test_copies_and_pickles_know_nothing_of_a_layer():
    module = nn.Linear(2, 2)
    CallLayer(module, lambda call, x: call(x) + 1).put_on()
    x = torch.zeros(1, 2)
    for copied in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert torch.equal(copied(x) + 1, module(x))
