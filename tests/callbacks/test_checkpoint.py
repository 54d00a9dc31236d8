"""A training that is taken up again, from any of its epochs, ends with the very same weights.

python -m pytest tests/callbacks/test_checkpoint.py
"""

import os
import shutil

import pytest
import torch
from fastai.callback.core import Callback
from fastai.data.core import DataLoader, DataLoaders
from torch import nn

from callbacks.accumulate import Accumulate
from callbacks.best import KeepBest
from callbacks.checkpoint import BEST, LAST, Checkpoint
from callbacks.checkpoint_file import CheckpointError, read_checkpoint
from callbacks.ema import AveragedWeights
from callbacks.timing import EpochTimer

FROZEN, UNFROZEN = 2, 3  # epochs
VARYING = ("train_seconds", "valid_seconds", "images_per_second", "data_wait", "warmup")


class Snapshots(Callback):
    """Copies ``last.pth`` of each epoch."""

    order = 66

    def before_train(self):
        self.keep(0)

    def after_epoch(self):
        if self.learn.epoch_timer.row is not None:
            self.keep(self.learn.epoch_timer.run_epoch)

    def keep(self, epoch):
        folder = self.learn.checkpoint.folder
        if not (folder / f"{epoch}.pth").exists():
            shutil.copy(folder / LAST, folder / f"{epoch}.pth")


@pytest.fixture
def make(make_learner, tmp_path):
    """A Learner that draws from many generators: shuffling, dropout, and Gaussian noise on the points."""

    def make(name, cbs=(), **options):
        timed = [EpochTimer(), KeepBest(), Checkpoint(tmp_path / name, **options)]
        learn = make_learner(cbs=[*timed, *cbs])
        train, valid = learn.dls.loaders
        shuffled = DataLoader(train.dataset, bs=6, shuffle=True, after_batch=noisy)
        learn.dls = DataLoaders(shuffled, valid)
        learn.model.insert(2, nn.Dropout(0.3))
        return learn

    return make


def noisy(batch):
    x, y = batch
    return x + 0.1 * torch.randn_like(x), y


def train(learn, state=None):
    """Two phases, from where `state` is on."""
    done = {True: 0, False: 0}
    if state is not None:
        learn.checkpoint.resume(state)
        for row in learn.epoch_timer.rows:
            done[row["phase"] == "frozen"] += 1
    if not done[False]:
        learn.freeze()
        learn.fit_one_cycle(FROZEN, 0.02, start_epoch=done[True])
    learn.unfreeze()
    learn.fit_one_cycle(UNFROZEN, slice(0.001, 0.02), start_epoch=done[False])
    return learn


def numbers(learn):
    return [{name: value for name, value in row.items() if name not in VARYING} for row in learn.epoch_timer.rows]


def equal(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


# A step a batch; two steps an epoch, with gradients left over; an average of the weights.
@pytest.mark.parametrize("more", [list, lambda: [Accumulate(16)], lambda: [AveragedWeights(0.9)]])
def test_from_every_epoch_on_all_is_as_it_was(make, tmp_path, more):

    whole = train(make("whole", [Snapshots(), *more()]))
    best = whole.keep_best
    for epoch in range(FROZEN + UNFROZEN + 1):
        torch.manual_seed(99 + epoch)  # another process would not be there either
        resumed = make("resumed", more())
        with torch.no_grad():
            for parameter in resumed.model.parameters():
                parameter.fill_(9)
        train(resumed, read_checkpoint(tmp_path / "whole" / f"{epoch}.pth"))
        assert numbers(resumed) == numbers(whole)
        assert resumed.epoch_timer.run_step == whole.epoch_timer.run_step == 4 * (FROZEN + UNFROZEN)
        assert equal(resumed.model.state_dict(), whole.model.state_dict())
        assert equal(resumed.keep_best.weights, best.weights)
        assert resumed.keep_best.row["epoch"] == best.row["epoch"]


def test_a_checkpoint_is_tensors_and_plain_values_alone(make, tmp_path):
    learn = make("run", facts=lambda: {"args": {"lr": 0.1, "name": None}, "classes": ["cat", "dog"]})
    learn.fit_one_cycle(1)
    state = torch.load(tmp_path / "run" / LAST, weights_only=True)
    assert state["args"] == {"lr": 0.1, "name": None}
    assert state["classes"] == ["cat", "dog"]
    assert state["callbacks"]["epoch_timer"]["rows"] == learn.epoch_timer.rows
    best = torch.load(tmp_path / "run" / BEST, weights_only=True)
    assert best["row"] == learn.keep_best.row
    assert equal(best["model"], learn.keep_best.weights)


def test_it_is_written_every_so_many_epochs_and_after_the_last(make, tmp_path):
    class Look(Callback):
        order, seen = 66, []

        def after_epoch(self):
            rows = read_checkpoint(tmp_path / "run" / LAST)["callbacks"]["epoch_timer"]["rows"]
            self.seen.append(len(rows))

    look = Look()
    make("run", [look], every=2).fit_one_cycle(5)
    assert look.seen == [0, 2, 2, 4, 5]


def test_the_best_may_be_an_epoch_without_a_checkpoint(make, tmp_path):
    class Script(Callback):
        order = 57

        def after_epoch(self):
            row = self.learn.epoch_timer.row
            row["accuracy"] = 1.0 if row["epoch"] == 1 else 0.0

    learn = make("run", [Script()], every=2)
    learn.fit_one_cycle(2)
    again = make("again")
    again.checkpoint.resume(read_checkpoint(tmp_path / "run" / LAST))
    assert again.keep_best.row["epoch"] == 1
    assert equal(again.keep_best.weights, learn.keep_best.weights)
    assert not equal(again.keep_best.weights, dict(learn.model.state_dict()))
    assert read_checkpoint(tmp_path / "run" / BEST)["row"]["epoch"] == 1


def test_validation_and_the_finder_write_none(make, tmp_path):
    learn = make("run")
    learn.validate()
    learn.lr_find(num_it=8, show_plot=False, suggest_funcs=None)
    assert not (tmp_path / "run").exists()


def test_a_write_that_fails_leaves_the_earlier_file(make, tmp_path, monkeypatch):
    learn = make("run")
    learn.fit_one_cycle(1)
    before = (tmp_path / "run" / LAST).read_bytes()

    def no_space(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space left on device") as raised:
        learn.fit_one_cycle(1)
    assert raised.value.filename == str(tmp_path / "run" / LAST)
    assert (tmp_path / "run" / LAST).read_bytes() == before
    assert sorted(os.listdir(tmp_path / "run")) == [BEST, LAST]


def test_the_weights_of_another_network_are_refused(make, tmp_path):
    make("run").fit_one_cycle(1)
    other = make("other")
    other.model[0] = nn.Linear(4, 9)
    with pytest.raises(CheckpointError, match=r"^the checkpoint holds the weights of another network$"):
        other.checkpoint.resume(read_checkpoint(tmp_path / "run" / LAST))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", " is damaged, or no checkpoint"),
        (b"junk", " is damaged, or no checkpoint"),
        (None, " is no checkpoint of this version"),
    ],
)
def test_a_file_that_is_none(tmp_path, content, message):
    path = tmp_path / LAST
    if content is None:
        torch.save({"weights": torch.zeros(2)}, path)
    else:
        path.write_bytes(content)
    with pytest.raises(CheckpointError) as raised:
        read_checkpoint(path)
    assert str(raised.value) == f"{path}{message}"


def test_half_a_checkpoint_is_damaged(make, tmp_path):
    make("run").fit_one_cycle(1)
    path = tmp_path / "run" / LAST
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(CheckpointError, match=r"last\.pth is damaged, or no checkpoint$"):
        read_checkpoint(path)
