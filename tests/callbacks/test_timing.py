"""Epochs and steps counted over the whole run, and timed.

python -m pytest tests/callbacks/test_timing.py
"""

import time

import pytest
import torch
from fastai.callback.core import Callback, CancelFitException

from callbacks.timing import EpochTimer, WaitedFor, synchronize

COLUMNS = [
    "epoch",
    "phase",
    "train_loss",
    "valid_loss",
    "accuracy",
    "train_seconds",
    "valid_seconds",
    "images_per_second",
    "data_wait",
    "warmup",
]


class Sleep(Callback):
    """Makes a training batch take 20 ms longer, a validation batch 10 ms."""

    def before_batch(self):
        time.sleep(0.02 if self.training else 0.01)


def test_a_row_has_its_columns_in_order(make_learner):
    learn = make_learner(cbs=[EpochTimer()])
    learn.fit(1)
    assert list(learn.epoch_timer.row) == COLUMNS
    assert learn.epoch_timer.rows == [learn.epoch_timer.row]


def test_train_and_valid_are_timed_apart(make_learner):
    learn = make_learner(cbs=[EpochTimer(), Sleep()])
    learn.fit(2)
    for row in learn.epoch_timer.rows:  # 4 batches of 20 ms, 2 of 10 ms
        assert 0.08 <= row["train_seconds"] < 1
        assert 0.02 <= row["valid_seconds"] < 0.08 + row["train_seconds"]
        assert row["images_per_second"] == pytest.approx(24 / row["train_seconds"])


def test_the_waiting_for_batches_is_timed_and_nothing_else(make_learner):
    learn = make_learner(cbs=[EpochTimer(), Sleep()])

    def slowly(batch):
        time.sleep(0.03)
        return batch

    learn.dls.train.after_batch = slowly
    learn.fit(2)
    for row in learn.epoch_timer.rows:  # 4 batches of 30 ms, and 20 ms of training each
        assert 0.12 <= row["data_wait"] < 0.19
        assert row["train_seconds"] - row["data_wait"] >= 0.08


def test_the_loader_is_the_learners_own_again_after_training(make_learner):
    class Look(Callback):
        def before_train(self):
            self.seen = [self.learn.dl]

        def before_validate(self):
            self.seen.append(self.learn.dl)

        def after_train(self):
            self.seen.append(self.learn.dl)

    Look.order = 70
    learn = make_learner(cbs=[EpochTimer(), Look()])
    learn.fit(1)
    during, after, valid = learn.look.seen
    assert isinstance(during, WaitedFor)
    assert (len(during), during.bs, during.dataset) == (4, 6, learn.dls.train.dataset)
    assert after is learn.dls.train
    assert valid is learn.dls.valid


def test_losses_and_metrics_are_the_recorders(make_learner):
    learn = make_learner(cbs=[EpochTimer()])
    learn.fit(3)
    recorded = [[row["train_loss"], row["valid_loss"], row["accuracy"]] for row in learn.epoch_timer.rows]
    assert recorded == [list(values) for values in learn.recorder.values]


def test_epochs_steps_and_phases_grow_over_fits(make_learner):
    learn = make_learner(cbs=[EpochTimer()])
    learn.freeze()
    learn.fit(2)
    learn.unfreeze()
    learn.fit(2)
    timer = learn.epoch_timer
    assert [(row["epoch"], row["phase"], row["warmup"]) for row in timer.rows] == [
        (1, "frozen", True),
        (2, "frozen", False),
        (3, "unfrozen", True),
        (4, "unfrozen", False),
    ]
    assert (timer.run_epoch, timer.run_step) == (4, 16)


def test_an_epoch_that_is_cancelled_has_no_row(make_learner):
    class Cancel(Callback):
        def after_batch(self):
            if self.epoch == 1:
                raise CancelFitException

    learn = make_learner(cbs=[EpochTimer(), Cancel()])
    learn.fit(3)
    assert [row["epoch"] for row in learn.epoch_timer.rows] == [1]
    assert learn.epoch_timer.row is None


@pytest.mark.parametrize("what", ["validate", "get_preds"])
def test_no_row_stands_after_what_trains_nothing(make_learner, what):
    learn = make_learner(cbs=[EpochTimer()])
    learn.fit(1)
    getattr(learn, what)()
    assert learn.epoch_timer.row is None
    assert len(learn.epoch_timer.rows) == 1


def test_the_cpu_needs_no_waiting():
    synchronize(torch.device("cpu"))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
def test_a_gpu_is_waited_for():
    side = 8192
    matrix = torch.randn(side, side, device="cuda")
    synchronize(matrix.device)
    for _ in range(20):
        matrix = matrix @ matrix
    done = torch.cuda.Event()
    done.record()
    synchronize(matrix.device)
    assert done.query()
