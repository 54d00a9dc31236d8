"""How long a training step takes, without the loading of its batch.

steps = StepTimer()
learn.fit_one_cycle(3, cbs=steps)
steps.seconds                               # the median
"""

import statistics
import time

from fastai.callback.core import Callback

from callbacks.timing import synchronize

SAMPLED = 20  # steps at the start of each epoch: to time one, the device has to be waited for


class StepTimer(Callback):
    """Times forward, loss, backward and optimizer of the first steps of each epoch.

    Attributes
    ----------
    seconds : float or None
        The median over all fits, which the few steps that compile do not move; None before the first step.
    """

    order, run_valid = 65, False  # last before the forward, and after all that belongs to a step

    def __init__(self):
        self.samples = []

    @property
    def seconds(self) -> float | None:
        return statistics.median(self.samples) if self.samples else None

    def before_fit(self):
        self.run = not hasattr(self.learn, "lr_finder")

    def before_batch(self):
        if self.learn.iter < SAMPLED:
            self._started = self._now()

    def after_batch(self):
        if self.learn.iter < SAMPLED:
            self.samples.append(self._now() - self._started)

    def _now(self) -> float:
        synchronize(next(self.learn.model.parameters()).device)
        return time.perf_counter()
