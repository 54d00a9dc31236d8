"""Checkpoints from which another process goes on as if nothing had happened: to the last bit, on a CPU.

learn.add_cbs([EpochTimer(), KeepBest(), Checkpoint("runs/today/checkpoints")])
learn.fit_one_cycle(5)

learn.checkpoint.resume(read_checkpoint("runs/today/checkpoints/last.pth"))     # in another process
learn.fit_one_cycle(5, start_epoch=len(learn.epoch_timer.rows))
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from fastai.callback.core import Callback
from fastai.callback.training import GradientAccumulation

from callbacks.checkpoint_file import CheckpointError, write_checkpoint
from callbacks.random_state import random_state, restore_random_state
from callbacks.timing import RowCallback

LAST, BEST = "last.pth", "best.pth"
# What a state that was not written here may raise, at any depth.
UNLIKE = "the checkpoint is of another training, or not what was written"
PARTS = {"model": dict, "optimizer": dict, "gradients": list, "smooth_loss": tuple, "random": dict, "callbacks": dict}
UNFIT = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


class Checkpoint(RowCallback):
    """Writes ``last.pth``, all that a training is, and ``best.pth``, the weights of the best epoch.

    Before the first epoch, after every `every` epochs, and after the last of a fit. Needs
    `callbacks.timing.EpochTimer` and `callbacks.best.KeepBest` on the same Learner. Other callbacks keep what they
    have to by the methods ``state_dict`` and ``load_state_dict``.

    Parameters
    ----------
    folder
        Made when it is not there.
    every
        Epochs between two checkpoints.
    facts
        Returns what else is to be known of the training, in values that ``torch.load(weights_only=True)`` takes.
    """

    order, run_valid = 65, False  # after all that takes a row (60): a checkpoint holds what they did with it

    def __init__(self, folder: str | Path, every: int = 1, facts: Callable[[], dict[str, Any]] = dict):
        self.folder, self.every, self.facts = Path(folder), every, facts
        self.written, self._best_written, self._resumed = False, None, None

    def resume(self, state: dict[str, Any]) -> None:
        """Take over a checkpoint that `read_checkpoint` returned.

        The weights and what callbacks keep are put back at once; optimizer and generators when the next fit begins,
        which has to be the one that was going on: with its number of epochs, rates, and the epochs done as
        ``start_epoch``, all of them where it had ended.

        Raises
        ------
        CheckpointError
            The Learner's network is another one, or the state is not what `save` writes.
        """
        if wrong := [part for part, kind in PARTS.items() if not isinstance(state.get(part), kind)]:
            raise CheckpointError(f"the checkpoint has no {', '.join(wrong)}")
        try:
            self.learn.model.load_state_dict(state["model"])
        except RuntimeError as error:
            raise CheckpointError("the checkpoint holds the weights of another network") from error
        try:
            for callback in self._keepers():
                if callback.name in state["callbacks"]:
                    callback.load_state_dict(state["callbacks"][callback.name])
        except UNFIT as error:
            raise CheckpointError(UNLIKE) from error
        self.written, self._resumed = True, state

    def before_fit(self):
        self.run = not hasattr(self.learn, "lr_finder")
        if self.run and self._resumed is not None:  # what fit and before_fit reset, in their place
            try:
                self._restore_learner(self._resumed)
            except UNFIT as error:
                raise CheckpointError(UNLIKE) from error
            self._resumed = None

    def before_train(self):
        if not self.written:  # a kill in the first epoch is then as any other
            self.save()

    def on_row(self, row: dict[str, Any]) -> None:
        if not self.learn.epoch_timer.run_epoch:
            return  # a row of something that came before; the first fit begins with a checkpoint
        if row["epoch"] % self.every == 0 or self.learn.epoch + 1 == self.learn.n_epoch:
            self.save()

    def save(self) -> None:
        """Write both files; each is whole, or the one before.

        Raises
        ------
        OSError
            They cannot be written.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        write_checkpoint(self.folder / LAST, self._state())
        self.written = True
        best = self.learn.keep_best
        if best.row is not None and best.row["epoch"] != self._best_written:
            content = {"row": best.row, "model": best.weights, **self.facts()}
            write_checkpoint(self.folder / BEST, content)
            self._best_written = best.row["epoch"]

    def _keepers(self) -> list[Callback]:
        # Of the class: what an object of fastai's lacks is looked for in the Learner, and in the model.
        return [callback for callback in self.learn.cbs if hasattr(type(callback), "load_state_dict")]

    def _state(self) -> dict[str, Any]:
        optimizer, loss = self.learn.opt, self.learn.recorder.smooth_loss
        return {
            "model": self.learn.model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "gradients": self._gradients(),
            "smooth_loss": (loss.count, loss.val),
            "random": random_state(self.learn.dls.loaders),
            "callbacks": {callback.name: callback.state_dict() for callback in self._keepers()},
            **self.facts(),
        }

    def _gradients(self) -> list[torch.Tensor | bool | None]:
        """Of each parameter: None, False for zeros, or what batches that are still accumulated have left."""
        gradients = [parameter.grad for parameter, *_ in self.learn.opt.all_params()]
        accumulates = any(isinstance(callback, GradientAccumulation) for callback in self.learn.cbs)
        return [grad if grad is None or (accumulates and bool(grad.any())) else False for grad in gradients]

    def _restore_learner(self, state: dict[str, Any]) -> None:
        parameters = [parameter for parameter, *_ in self.learn.opt.all_params()]
        kept = state["optimizer"]
        moved = [_to(entry, parameter.device) for entry, parameter in zip(kept["state"], parameters)]
        self.learn.opt.load_state_dict({"state": moved, "hypers": kept["hypers"]})
        for parameter, grad in zip(parameters, state["gradients"]):
            if grad is not None:  # fastai's optimizer steps on zeros, but not on None
                parameter.grad = torch.zeros_like(parameter) if grad is False else grad.to(parameter.device)
        loss = self.learn.recorder.smooth_loss
        loss.count, loss.val = state["smooth_loss"]
        restore_random_state(state["random"], self.learn.dls.loaders)


def _to(entry: dict[str, Any], device: torch.device) -> dict[str, Any]:
    return {key: value.to(device) if isinstance(value, torch.Tensor) else value for key, value in entry.items()}
