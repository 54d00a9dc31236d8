"""Ctrl-C ends the batch, not the program.

python -m pytest tests/callbacks/test_interrupt.py
"""

import os
import signal
import threading

import pytest
from fastai.callback.core import Callback

from callbacks.interrupt import Interruptible
from callbacks.timing import EpochTimer


class PressCtrlC(Callback):
    """Sends SIGINT to this process inside a batch, and keeps how far each batch came."""

    def __init__(self, step, training=True, times=1):
        self.step, self.when, self.times, self.ended = step, training, times, 0

    def after_loss(self):
        if self.training == self.when and self.learn.epoch_timer.run_step == self.step:
            for _ in range(self.times):
                os.kill(os.getpid(), signal.SIGINT)

    def after_batch(self):
        self.ended += 1


def test_the_batch_ends_and_no_other_begins(make_learner):
    interrupt, press = Interruptible(), PressCtrlC(step=5)
    learn = make_learner(cbs=[EpochTimer(), press, interrupt])
    former = signal.getsignal(signal.SIGINT)
    with interrupt.caught():
        learn.fit(3)
        learn.fit(3)  # does not begin
    assert interrupt.requested
    assert learn.epoch_timer.run_step == 6
    assert learn.epoch_timer.run_epoch == 2
    assert press.ended == 4 + 2 + 2  # an epoch, its validation, two batches
    assert signal.getsignal(signal.SIGINT) is former


def test_the_first_one_is_acknowledged_at_once(make_learner, capfd):
    interrupt = Interruptible()
    learn = make_learner(cbs=[EpochTimer(), PressCtrlC(step=2), interrupt])
    with interrupt.caught():
        learn.fit(1)
    said = capfd.readouterr().err.splitlines()
    assert "stopping after this batch; Ctrl-C again stops at once, and saves nothing" in said


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
