"""Stop when the loss is no longer a number: what follows would only waste time, and export a broken model.

learn.fit_one_cycle(3, cbs=StopOnNonFinite())   # raises NonFiniteLoss
"""

import math

from fastai.callback.core import Callback

STEPS_BETWEEN_CHECKS = 10  # reading a loss waits for the device


class NonFiniteLoss(RuntimeError):
    """The training loss became infinite or not a number."""


class StopOnNonFinite(Callback):
    """Looks at the smoothed loss, where a bad batch stays visible, every few steps and when an epoch ends.

    Needs `callbacks.timing.EpochTimer` on the same Learner, for the number of the epoch.
    """

    order, run_valid = 56, False  # after the Recorder (50), before anything writes the loss (60)

    def before_fit(self):
        self.run = not hasattr(self.learn, "lr_finder")  # the finder goes on until the loss explodes

    def after_batch(self):
        if self.train_iter % STEPS_BETWEEN_CHECKS == 0:
            self._check()

    def after_train(self):
        self._check()

    def _check(self) -> None:
        loss = self.learn.smooth_loss.item()
        if not math.isfinite(loss):
            epoch = self.learn.epoch_timer.run_epoch
            raise NonFiniteLoss(f"the training loss became {loss} in epoch {epoch}: lower --lr, or check the images")
