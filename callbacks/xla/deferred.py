"""Losses and metrics stay on the device while an epoch runs; they come over at its end, together.

deferred = Deferred(learn)
deferred.put_on()
"""

from typing import Any

import torch
from fastai.callback.core import Callback, GatherPredsCallback
from fastai.callback.progress import ProgressCallback
from fastai.learner import AvgSmoothLoss, Learner, Recorder

from callbacks.host import nested_to_host


class DeviceSmoothLoss(AvgSmoothLoss):
    """fastai's smoothed loss, on the device of the loss.

    The correction for the start is a tensor too: as a number, ``1 - beta ** count`` becomes 1.0, which XLA would
    compile anew for.
    """

    def reset(self) -> None:
        self.count, self.val, self._weight, self._fetched = 0, None, None, None

    def accumulate(self, learn: Learner) -> None:
        loss = learn.loss.detach().mean().float()
        if self._weight is None:  # the first loss, or the first after a checkpoint
            self.val = torch.zeros_like(loss) if self.val is None else self.val.to(loss.device)
            self._weight = torch.full_like(loss, 1 - self.beta**self.count)
        self.count, self._fetched = self.count + 1, None
        self.val = torch.lerp(loss, self.val, self.beta)
        self._weight = torch.lerp(torch.ones_like(loss), self._weight, self.beta)

    @property
    def value(self) -> torch.Tensor:
        if self._fetched is not None:
            return self._fetched
        weight = 1 - self.beta**self.count if self._weight is None else self._weight
        return self.val / weight

    def note(self, state: dict[str, Any]) -> None:
        """Take the value from a copy of the attributes that is on the CPU, until the next loss comes."""
        if self._weight is not None:
            self._fetched = state["val"] / state["_weight"]


class Deferred:
    """Replaces the parts of a Learner's Recorder and progress bar that read a loss at every batch.

    A callback whose class has ``reads_late = True`` keeps tensors for the end of the epoch: they come over, too.

    Parameters
    ----------
    every
        Steps between readings for the progress bar; None reads nothing for it.
    """

    def __init__(self, learn: Learner, every: int | None = None):
        self._learn, self._every = learn, every
        self._recorders = [callback for callback in learn.cbs if isinstance(callback, Recorder)]
        self._bars = [callback for callback in learn.cbs if isinstance(callback, ProgressCallback)]
        self._smooth: list[AvgSmoothLoss] = []

    def put_on(self) -> None:
        for recorder in self._recorders:
            self._smooth.append(recorder.smooth_loss)
            smooth = DeviceSmoothLoss(recorder.smooth_loss.beta)
            smooth.reset()
            vars(recorder)["smooth_loss"] = smooth  # past fastai's warning that the Learner has one of that name
        for bar in self._bars:
            vars(bar)["after_batch"] = lambda bar=bar: self._show(bar)

    def take_off(self) -> None:
        """Put back what was there, with the numbers so far."""
        self.fetch()
        for recorder, smooth in zip(self._recorders, self._smooth):
            smooth.count = recorder.smooth_loss.count
            if smooth.count:
                smooth.val = recorder.smooth_loss.value * (1 - smooth.beta**smooth.count)
            vars(recorder)["smooth_loss"] = smooth
        for bar in self._bars:
            vars(bar).pop("after_batch", None)
        self._smooth = []

    def fetch(self) -> None:
        """Bring over, in one transfer, what was recorded, measured and gathered on the device so far."""
        holders = self._holders()
        last = {name: value for name, value in vars(self._learn).items() if name in ("loss", "smooth_loss")}
        last, *states = nested_to_host([last, *map(vars, holders)])
        vars(self._learn).update(last)
        for holder, state in zip(holders, states):
            if isinstance(holder, DeviceSmoothLoss):
                holder.note(state)  # it goes on on the device
            else:
                vars(holder).update(state)

    def _holders(self) -> list[Any]:
        learn = self._learn
        callbacks = [callback for callback in learn.cbs if _keeps_for_later(callback)]
        smoothed = [recorder.smooth_loss for recorder in self._recorders]
        averages = [recorder.loss for recorder in self._recorders]
        return [*self._recorders, *smoothed, *averages, *learn.metrics, *callbacks]

    def _show(self, bar: ProgressCallback) -> None:
        done = bar.iter + 1
        bar.pbar.update(done)
        if self._every and done % self._every == 0 and hasattr(bar, "smooth_loss"):
            bar.pbar.comment = f"{bar.smooth_loss.item():.4f}"


def _keeps_for_later(callback: Callback) -> bool:
    # Of the class: what an object of fastai's lacks is looked for in the Learner, and in the model.
    return isinstance(callback, GatherPredsCallback) or getattr(type(callback), "reads_late", False)
