"""Keep the weights of the best epoch, over all fits of a run (fastai's SaveModel forgets at the second).

best = KeepBest()
learn.fine_tune(3, cbs=[EpochTimer(), best])
best.restore()
"""

from collections.abc import Callable
from typing import Any

import torch

from callbacks.host import to_host
from callbacks.timing import RowCallback

# What is measured, best last; of equals the second decides, then the earlier epoch.
RANKS: dict[str, Callable[[dict[str, Any]], tuple[float, float]]] = {
    "accuracy": lambda row: (row.get("accuracy", 0.0), -row["valid_loss"]),
    "loss": lambda row: (-row["valid_loss"], row.get("accuracy", 0.0)),
    "f1": lambda row: (row.get("f1", 0.0), -row["valid_loss"]),
}


class KeepBest(RowCallback):
    """Needs `callbacks.timing.EpochTimer` on the same Learner. The copy is held in memory, on the CPU.

    Parameters
    ----------
    monitor
        What tells the best epoch: ``accuracy`` and ``f1`` (the higher, if they are measured) or ``loss`` (of
        validation, the lower).

    Attributes
    ----------
    row : dict or None
        The row of the best epoch.
    weights : dict[str, Tensor] or None
        The model's ``state_dict`` after it.
    """

    def __init__(self, monitor: str = "accuracy"):
        if monitor not in RANKS:
            raise ValueError(f"monitor {monitor!r} is none of {', '.join(RANKS)}")
        self.row, self.weights, self._rank = None, None, RANKS[monitor]

    def on_row(self, row: dict[str, Any]) -> None:
        if self.row is None or self._rank(row) > self._rank(self.row):
            self.row = row
            self._copy_weights()

    def restore(self) -> None:
        """Put the best epoch's weights back; without a finished epoch, leave the model as it is."""
        if self.weights is not None:
            with torch.no_grad():
                self.learn.model.load_state_dict(self.weights)

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps; the weights only where they are not the model's own, as an average never is."""
        rows, averaged = self.learn.epoch_timer.rows, hasattr(self.learn, "averaged_weights")
        own = rows and self.row is rows[-1] and not averaged
        return {"row": self.row, "weights": None if own else self.weights}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over what `state_dict` returned; the model has the weights of that time."""
        self.row, self.weights = state["row"], state["weights"]
        if self.row is not None and self.weights is None:
            self._copy_weights()

    def _copy_weights(self) -> None:
        state = self.learn.model.state_dict()
        self.weights = dict(zip(state, to_host(list(state.values()))))
