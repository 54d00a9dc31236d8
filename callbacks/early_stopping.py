"""Stop when no epoch has been better for a while, over all fits of a run.

learn.fine_tune(30, cbs=[EpochTimer(), KeepBest("loss"), EarlyStopping(5)])
"""

from typing import Any

from fastai.callback.core import CancelFitException

from callbacks.timing import RowCallback


class EarlyStopping(RowCallback):
    """Needs `callbacks.timing.EpochTimer` and `callbacks.best.KeepBest`, which says what is better.

    Parameters
    ----------
    patience
        Epochs without a better one after which the fit ends.
    """

    order = 66  # after the epoch's checkpoint (65): the events of a fit that is cancelled reach nobody behind

    def __init__(self, patience: int):
        self.patience = patience

    @property
    def stopped(self) -> bool:
        """Whether as many of the last epochs as `patience` were no better than one before them."""
        rows, best = self.learn.epoch_timer.rows, self.learn.keep_best.row
        return best is not None and rows[-1]["epoch"] - best["epoch"] >= self.patience

    def on_row(self, row: dict[str, Any]) -> None:
        if self.stopped:
            raise CancelFitException
