"""Keep the weights of the best epoch, over all fits of a run (fastai's SaveModel forgets at the second).

best = KeepBest()
learn.fine_tune(3, cbs=[EpochTimer(), best])
best.restore()
"""

from typing import Any

import torch

from callbacks.host import to_host
from callbacks.timing import RowCallback


class KeepBest(RowCallback):
    """Needs `callbacks.timing.EpochTimer` on the same Learner. The copy is held in memory, on the CPU.

    Attributes
    ----------
    row : dict or None
        The row of the best epoch: the highest accuracy, if it is measured; of equals the lowest validation loss.
    """

    def __init__(self):
        self.row, self._weights = None, None

    def on_row(self, row: dict[str, Any]) -> None:
        if self.row is None or self._rank(row) > self._rank(self.row):
            self.row = row
            state = self.learn.model.state_dict()
            self._weights = dict(zip(state, to_host(list(state.values()))))

    def restore(self) -> None:
        """Put the best epoch's weights back; without a finished epoch, leave the model as it is."""
        if self._weights is not None:
            with torch.no_grad():
                self.learn.model.load_state_dict(self._weights)

    @staticmethod
    def _rank(row: dict) -> tuple[float, float]:
        return row.get("accuracy", 0.0), -row["valid_loss"]
