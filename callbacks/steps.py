"""How long a training step takes, without the loading of its batch.

steps = StepTimer()
learn.fit_one_cycle(3, cbs=steps)
steps.seconds                               # the median
"""

import statistics
import time

from fastai.callback.core import Callback

from callbacks.compile import tally
from callbacks.timing import synchronize

SAMPLED = 20  # steps at the start of each epoch: to time one, the device has to be waited for
ENOUGH = 3  # steps, below which their median says nothing


class StepTimer(Callback):
    """Times forward, loss, backward and optimizer of the first steps of each epoch, but of none that compiles.

    Attributes
    ----------
    seconds : float or None
        The median over all fits; None while there are fewer than three such steps.
    """

    order, run_valid = 65, False  # last before the forward, and after all that belongs to a step

    def __init__(self):
        self.samples = []

    @property
    def seconds(self) -> float | None:
        return statistics.median(self.samples) if len(self.samples) >= ENOUGH else None

    def before_fit(self):
        self.run = not hasattr(self.learn, "lr_finder")

    def before_batch(self):
        if self.learn.iter < SAMPLED:
            self._tally, self._started = tally(), self._now()

    def after_batch(self):
        if self.learn.iter < SAMPLED and self._tally == tally():
            self.samples.append(self._now() - self._started)

    def _now(self) -> float:
        synchronize(next(self.learn.model.parameters()).device)
        return time.perf_counter()
