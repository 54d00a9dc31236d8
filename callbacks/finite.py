"""Stop when the loss is no longer a number: what follows would only waste time, and export a broken model.

learn.fit_one_cycle(3, cbs=StopOnNonFinite())   # raises NonFiniteLoss
"""

import math

from fastai.callback.core import Callback

STEPS_BETWEEN_CHECKS = 10  # reading a loss waits for the device


class NonFiniteLoss(RuntimeError):
    """The training or validation loss became infinite or not a number."""


class StopOnNonFinite(Callback):
    """Looks at the smoothed loss, where a bad batch stays visible, every few steps and when an epoch ends.

    The validation loss is looked at too: the last step of an epoch shows nowhere else.

    Needs `callbacks.timing.EpochTimer` on the same Learner, for the number of the epoch.

    Parameters
    ----------
    every
        Steps between two looks; None looks only when an epoch ends.
    """

    order, run_valid = 56, False  # after EpochTimer (55) has made the row, before anything keeps it (60)

    def __init__(self, every: int | None = STEPS_BETWEEN_CHECKS):
        self.every = every

    def before_fit(self):
        self.run = not hasattr(self.learn, "lr_finder")  # the finder goes on until the loss explodes

    def after_batch(self):
        if self.every and self.train_iter % self.every == 0:
            self._check("training", self.learn.smooth_loss.item())

    def after_train(self):
        self._check("training", self.learn.smooth_loss.item())

    def after_epoch(self):
        row = self.learn.epoch_timer.row
        if row is not None:
            self._check("validation", row["valid_loss"])

    def _check(self, part: str, loss: float) -> None:
        if not math.isfinite(loss):
            epoch = self.learn.epoch_timer.run_epoch
            raise NonFiniteLoss(f"the {part} loss became {loss} in epoch {epoch}: lower --lr, or check the images")
