"""The average of the weights over the last steps: it is validated and kept as best, the training goes on without it.

learn.fit_one_cycle(5, cbs=[EpochTimer(), KeepBest(), AveragedWeights(0.999)])
"""

from typing import Any

import torch
from fastai.callback.core import Callback


class AveragedWeights(Callback):
    """An exponential moving average of all that ``state_dict`` has: weights, and the statistics of batch norms.

    It takes the weights' place from before an epoch's validation until its row is dealt with; so every number and
    `callbacks.best.KeepBest` are of the average, optimizer and checkpoints of the trained weights. Whole numbers,
    as batch norms' counts of batches, are copied.

    Parameters
    ----------
    decay
        Between 0 and 1: the share that the average keeps at a step. At first less, ``(1 + steps) / (10 + steps)``,
        since the first weights are the worst (as TensorFlow's ``ExponentialMovingAverage``).

    Attributes
    ----------
    steps : int
        Of the optimizer, over all fits.
    weights : dict[str, Tensor] or None
        The average by name; None before the first fit.
    """

    order = 62  # after what takes a row (60), which finds the average; before Checkpoint (65), which must not

    def __init__(self, decay: float = 0.999):
        if not 0 < decay < 1:
            raise ValueError(f"decay {decay} is not between 0 and 1")
        self.decay, self.steps, self.weights = decay, 0, None
        self._trained: list[torch.Tensor] | None = None
        self._in_training = False

    def before_fit(self):
        self.restore()  # what an exception left behind
        self.run = not hasattr(self.learn, "lr_finder")

    def before_train(self):
        self._in_training = True
        state = self.learn.model.state_dict()
        if self.weights is None:
            self.weights = {name: value.detach().clone() for name, value in state.items()}
        self.weights = {name: self.weights[name].to(value.device) for name, value in state.items()}

    def after_step(self):
        keep = min(self.decay, (1 + self.steps) / (10 + self.steps))
        self.steps += 1
        pairs = list(zip(self.weights.values(), self._now()))
        floating = [pair for pair in pairs if pair[0].is_floating_point()]
        torch._foreach_lerp_([average for average, _ in floating], [now for _, now in floating], 1 - keep)
        for average, now in pairs:
            if not average.is_floating_point():
                average.copy_(now)

    def before_validate(self):
        if self._in_training:
            self._trained = [value.clone() for value in self._now()]
            self._put(list(self.weights.values()))

    def after_epoch(self):
        self.restore()

    def after_fit(self):
        self.restore()

    def restore(self) -> None:
        """Put the trained weights back, where the average is in their place; safe to call at any time."""
        self._in_training = False
        if self._trained is not None:
            self._put(self._trained)
            self._trained = None

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {"steps": self.steps, "weights": self.weights}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self.steps, self.weights = state["steps"], state["weights"]

    def _now(self) -> list[torch.Tensor]:
        return list(self.learn.model.state_dict().values())

    def _put(self, values: list[torch.Tensor]) -> None:
        # In place: the optimizer and compiled code hold these tensors.
        with torch.no_grad():
            for tensor, value in zip(self._now(), values):
                tensor.copy_(value)
