"""What holds for every callback here, in any Learner, whatever is done with it.

python -m pytest tests/callbacks/test_contract.py
"""

import importlib
import pkgutil

import pytest
import torch
from fastai.callback.core import Callback

import callbacks
from callbacks.accumulate import Accumulate
from callbacks.augment import DeviceAugment
from callbacks.autocast import Autocast
from callbacks.best import KeepBest
from callbacks.checkpoint import Checkpoint
from callbacks.compile import CompileForward
from callbacks.early_stopping import EarlyStopping
from callbacks.linear_decay import LinearDecay
from callbacks.progressive_resizing import ProgressiveResizing
from callbacks.results import ResultsCSV
from callbacks.scoped import ScopedCallback
from callbacks.tensorboard import TensorBoard
from callbacks.timing import EpochTimer, RowCallback


def every_class():
    """All but those of `callbacks.xla`, which has a process of its own in tests/callbacks/xla."""
    names = (found.name for found in pkgutil.walk_packages(callbacks.__path__, "callbacks."))
    modules = (importlib.import_module(name) for name in names if not name.startswith("callbacks.xla"))
    found = {
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Callback) and value.__module__ == module.__name__
    }
    # DeviceAugment is for images, and changes them: tests/callbacks/test_augment.py
    return sorted(found - {RowCallback, ScopedCallback, DeviceAugment}, key=lambda cls: cls.__name__)


ARGUMENTS = {Checkpoint: ["checkpoints"], ResultsCSV: ["results.csv"], TensorBoard: ["board"]}
# inductor takes minutes; and a step is taken with every batch of six, as without
OPTIONS = {CompileForward: {"backend": "eager"}, Accumulate: {"n_acc": 6}, EarlyStopping: {"patience": 9}}
# The rate of the Learner's optimizer all the time: what is trained stays the same.
OPTIONS[LinearDecay] = {"peaks": [1e-3], "ends": [1e9]}
OPTIONS[ProgressiveResizing] = {"stages": []}  # what is trained on here are no images
every_callback = pytest.mark.parametrize("cls", every_class(), ids=lambda cls: cls.__name__)


@pytest.fixture
def with_callback(make_learner, tmp_path):
    """A Learner with the callback, and those that others need."""

    def with_callback(cls, **options):
        made = cls(*(tmp_path / name for name in ARGUMENTS.get(cls, [])), **OPTIONS.get(cls, {}))
        others = [other() for other in (EpochTimer, KeepBest) if other is not cls]
        return make_learner(cbs=[*others, made], **options)

    return with_callback


def test_all_are_found():
    names = {cls.__name__ for cls in every_class()}
    assert names >= {
        "Accumulate",
        "Autocast",
        "ChannelsLast",
        "Checkpoint",
        "CompileForward",
        "Console",
        "EarlyStopping",
        "EpochTimer",
        "Interruptible",
        "KeepBest",
        "ResultsCSV",
        "StepTimer",
        "StopOnNonFinite",
        "TensorBoard",
    }


@every_callback
def test_it_says_what_it_is_for(cls):
    assert cls.__doc__


@every_callback
def test_it_survives_whatever_is_done_and_counts_trained_epochs_only(cls, with_callback):
    learn = with_callback(cls)
    before = [parameter.clone() for parameter in learn.model.parameters()]
    learn.validate()
    learn.lr_find(num_it=8, show_plot=False, suggest_funcs=None)
    assert all(torch.equal(now, then) for now, then in zip(learn.model.parameters(), before))
    learn.freeze()
    learn.fit_one_cycle(1)
    learn.unfreeze()
    learn.get_preds()
    learn.fit_one_cycle(2)
    learn.validate()
    learn.get_preds(ds_idx=0)
    assert [row["epoch"] for row in learn.epoch_timer.rows] == [1, 2, 3]
    assert learn.epoch_timer.run_step == 3 * 4
    assert not all(torch.equal(now, then) for now, then in zip(learn.model.parameters(), before))


@every_callback
def test_it_needs_no_metric(cls, with_callback):
    learn = with_callback(cls, metrics=None)
    learn.fit(2)
    assert "accuracy" not in learn.epoch_timer.row


@every_callback
def test_the_numbers_of_the_training_stay_the_same(cls, with_callback, make_learner):
    def weights(learn):
        torch.manual_seed(1)
        learn.fit_one_cycle(2)
        return learn.model.state_dict()

    plain, watched = weights(make_learner()), weights(with_callback(cls))
    # bf16 has eight bits of mantissa; all others leave the last bit alone
    tolerance = 1e-2 if cls is Autocast else 0
    assert all(torch.allclose(plain[name], watched[name], rtol=tolerance, atol=tolerance) for name in plain)


@every_callback
def test_nothing_of_it_is_left_when_it_is_removed(cls, with_callback):
    learn = with_callback(cls)
    learn.fit(1)
    ours = [callback for callback in learn.cbs if type(callback).__module__.startswith("callbacks.")]
    learn.remove_cbs(ours)
    assert not [callback.name for callback in ours if hasattr(learn, callback.name)]
    assert all(type(callback).__module__.startswith("fastai.") for callback in learn.cbs)
    learn.fit(1)
