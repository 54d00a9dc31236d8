"""What a step takes, once everything is compiled."""

import time

from fastai.callback.core import Callback

from callbacks.compile import CompileForward
from callbacks.steps import StepTimer
from tests.callbacks.test_compile import make_learner


class SlowSteps(Callback):
    """Steps that take 50 ms longer than they need."""

    def after_pred(self):
        time.sleep(0.05)


def test_steps_that_compile_are_not_timed(monkeypatch):
    monkeypatch.setattr("callbacks.steps.ENOUGH", 1)
    compiled, timer = CompileForward(backend="aot_eager"), StepTimer()
    make_learner().fit(1, cbs=[compiled, timer, SlowSteps()])
    assert compiled.graphs == 2
    assert len(timer.samples) == 1  # of two steps the first compiles
    assert timer.seconds >= 0.05


def test_the_median_of_few_steps_is_not_told():
    learn, timer = make_learner(), StepTimer()
    learn.fit(1, cbs=timer)
    assert (len(timer.samples), timer.seconds) == (2, None)
    learn.fit(1, cbs=timer)
    assert timer.seconds == sum(sorted(timer.samples)[1:3]) / 2
