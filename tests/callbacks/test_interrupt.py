"""Ctrl-C and SIGTERM end the batch, not the program.

python -m pytest tests/callbacks/test_interrupt.py
"""

import multiprocessing
import os
import signal
import threading
import time

import pytest
import torch
from fastai.callback.core import Callback
from fastai.data.core import DataLoader, DataLoaders
from torch.utils.data import Dataset

from callbacks.interrupt import Interruptible
from callbacks.timing import EpochTimer


class PressCtrlC(Callback):
    """Sends a signal to this process inside a batch, and keeps how far each batch came."""

    def __init__(self, step, training=True, times=1, number=signal.SIGINT):
        self.step, self.when, self.times, self.number, self.ended = step, training, times, number, 0

    def after_loss(self):
        if self.training == self.when and self.learn.epoch_timer.run_step == self.step:
            for _ in range(self.times):
                os.kill(os.getpid(), self.number)

    def after_batch(self):
        self.ended += 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_batch_ends_and_no_other_begins(make_learner, number):
    interrupt, press = Interruptible(), PressCtrlC(step=5, number=number)
    learn = make_learner(cbs=[EpochTimer(), press, interrupt])
    former = signal.getsignal(number)
    with interrupt.caught():
        learn.fit(3)
        learn.fit(3)  # does not begin
    assert interrupt.requested == number
    assert learn.epoch_timer.run_step == 6
    assert learn.epoch_timer.run_epoch == 2
    assert press.ended == 4 + 2 + 2  # an epoch, its validation, two batches
    assert signal.getsignal(number) is former


@pytest.mark.parametrize(("number", "name"), [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM")])
def test_the_first_one_is_acknowledged_at_once(make_learner, capfd, number, name):
    interrupt = Interruptible()
    learn = make_learner(cbs=[EpochTimer(), PressCtrlC(step=2, number=number), interrupt])
    with interrupt.caught():
        learn.fit(1)
    said = capfd.readouterr().err.splitlines()
    assert f"stopping after this batch; {name} again stops at once, and saves nothing" in said


def test_validation_is_ended_too(make_learner):
    interrupt, press = Interruptible(), PressCtrlC(step=4, training=False)
    learn = make_learner(cbs=[EpochTimer(), press, interrupt])
    with interrupt.caught():
        learn.fit(3)
    assert press.ended == 4 + 1
    assert learn.epoch_timer.rows == []


def test_a_second_one_is_not_caught(make_learner):
    interrupt = Interruptible()
    learn = make_learner(cbs=[EpochTimer(), PressCtrlC(step=2, times=2), interrupt])
    former = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), interrupt.caught():
        learn.fit(3)
    assert signal.getsignal(signal.SIGINT) is former


def test_the_former_handler_is_back_after_an_error():
    former = signal.getsignal(signal.SIGINT)
    with pytest.raises(RuntimeError), Interruptible().caught():
        raise RuntimeError
    assert signal.getsignal(signal.SIGINT) is former


def test_without_ctrl_c_nothing_is_requested(make_learner):
    interrupt = Interruptible()
    learn = make_learner(cbs=[EpochTimer(), interrupt])
    with interrupt.caught():
        learn.fit(2)
    assert not interrupt.requested
    assert learn.epoch_timer.run_epoch == 2


def test_in_another_thread_signals_are_left_alone(make_learner):
    interrupt, handlers = Interruptible(), []

    def work():
        with interrupt.caught():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert handlers == [signal.getsignal(signal.SIGINT)]


def test_a_job_in_the_background_goes_on_ignoring_it(make_learner):
    interrupt = Interruptible()
    learn = make_learner(cbs=[EpochTimer(), PressCtrlC(step=2), interrupt])
    former = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupt.caught():
            learn.fit(2)
    finally:
        signal.signal(signal.SIGINT, former)
    assert not interrupt.requested
    assert learn.epoch_timer.run_epoch == 2


class Slow(Dataset):
    """Points for workers, read slowly, so that a worker is alive when it is needed."""

    def __len__(self):
        return 60

    def __getitem__(self, index):
        time.sleep(0.02)
        return torch.randn(4), index % 2


class InWorkers(Callback):
    """Sends a signal to this process and to its workers, as a terminal or a batch system does."""

    def __init__(self, number):
        self.number = number

    def after_loss(self):
        if self.training and self.learn.iter == 1:
            for child in [*multiprocessing.active_children(), None]:
                os.kill(child.pid if child else os.getpid(), self.number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_workers_too_is_no_error(make_learner, capfd, number):
    interrupt = Interruptible()
    learn = make_learner(cbs=[EpochTimer(), InWorkers(number), interrupt])
    learn.dls = DataLoaders(DataLoader(Slow(), bs=6, num_workers=2), learn.dls.valid)
    with interrupt.caught():
        learn.fit(2)
    assert interrupt.requested == number
    assert learn.epoch_timer.run_step < 10
    assert capfd.readouterr().err.count("stopping after this batch") == 1


def test_a_worker_that_dies_without_a_signal_to_us_is_an_error(make_learner):
    class Kill(Callback):
        def after_loss(self):
            if self.training and self.learn.iter == 1:
                os.kill(multiprocessing.active_children()[0].pid, signal.SIGKILL)

    interrupt = Interruptible()
    learn = make_learner(cbs=[EpochTimer(), Kill(), interrupt])
    learn.dls = DataLoaders(DataLoader(Slow(), bs=6, num_workers=2), learn.dls.valid)
    with pytest.raises(RuntimeError, match="DataLoader worker"), interrupt.caught():
        learn.fit(1)
