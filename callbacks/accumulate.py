"""Gradients of several batches for one step of the optimizer: a large batch in little memory.

learn.fit_one_cycle(3, cbs=Accumulate(64))  # batches of 16: a step every fourth
"""

from typing import Any

from fastai.callback.training import GradientAccumulation


class Accumulate(GradientAccumulation):
    """fastai's, which counts images; but a fit does not begin with gradients that the one before has left over.

    Parameters
    ----------
    n_acc
        Images per step of the optimizer.
    """

    _resumed = 0  # images, of a checkpoint; their gradients are the checkpoint's to put back

    def before_fit(self):
        super().before_fit()
        self.count, self._resumed = self._resumed, 0
        if self.learn.opt is not None:  # there is none in validate and get_preds before the first fit
            self.learn.opt.zero_grad()

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps: the images since the last step."""
        return {"count": self.count}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Count on from there, when the next fit begins."""
        self._resumed = state["count"]
