"""Write the epochs' timings, losses and metrics to TensorBoard: one writer and one growing step a run.

    learn.fine_tune(3, cbs=[EpochTimer(), TensorBoard("runs/today")])
    # tensorboard --logdir runs

Tags that end in ``_epoch`` or stand under ``valid/``, ``time/``, ``throughput/`` or ``memory/`` count epochs.
Steps are counted by ``train/loss`` (smoothed), ``train/loss_raw``, ``train/gradient_norm``, and by ``lr/`` and
``momentum/`` of each group of parameters. What other callbacks add to the row under a name with a slash is written
under it.
"""

import os
from pathlib import Path
from typing import Any

from torch import Tensor
from torch.nn.utils import get_total_norm
from torch.utils.tensorboard import SummaryWriter
from torch.utils.tensorboard.summary import hparams as summaries

from callbacks.dashboards import LAYOUT
from callbacks.host import to_host
from callbacks.memory_use import memory_tags
from callbacks.timing import RowCallback

STEPS_BETWEEN_LOSSES = 10  # reading a loss waits for the device
EPOCH_TAGS = {
    "train_seconds": "time/train_epoch",
    "valid_seconds": "time/valid_epoch",
    "data_wait": "time/data_wait",
    "images_per_second": "throughput/train",
    "train_loss": "train/loss_epoch",
    "valid_loss": "valid/loss",
    "accuracy": "valid/accuracy",
    "f1": "valid/f1",
}


def group_names(count: int) -> list[str]:
    """Names for groups of parameters, as fastai's splitters make them: the body's from the input on, then the head."""
    if count <= 3:
        return {1: ["all"], 2: ["body", "head"], 3: ["body_first", "body_last", "head"]}[count]
    return [*(f"body_{number}" for number in range(1, count)), "head"]


class TensorBoard(RowCallback):
    """Needs `callbacks.timing.EpochTimer` on the same Learner. `close` writes what is buffered.

    Parameters
    ----------
    every
        Steps between two losses that are written; with None they are the usual number, and read together when
        the epoch ends.
    """

    run_valid = False
    reads_late = True  # on XLA `_points` come over with the losses, see `callbacks.xla.deferred`

    def __init__(self, folder: str | Path, every: int | None = STEPS_BETWEEN_LOSSES):
        self._folder, self._every, self.writer = Path(folder), every, SummaryWriter(str(folder))
        self.writer.add_custom_scalars(LAYOUT)
        self._points: list[tuple[int, dict[str, Any]]] = []
        self._gradient: Tensor | None = None

    def before_fit(self):
        self.run = not hasattr(self.learn, "lr_finder")

    def before_step(self):
        # Not where losses wait for the epoch's end: there another graph would be compiled for these steps.
        if self._every and self._is_due(self.learn.epoch_timer.run_step + 1):
            gradients = [parameter.grad for parameter in self.learn.model.parameters() if parameter.grad is not None]
            self._gradient = get_total_norm(gradients)

    def after_batch(self):
        if self._is_due(self.learn.epoch_timer.run_step):
            self._note_step()
            if self._every:
                self._write_steps()

    def after_train(self):  # an epoch of a small data set may have fewer steps than that
        if not self._is_due(self.learn.epoch_timer.run_step):
            self._note_step()
        self._write_steps()

    def _is_due(self, step: int) -> bool:
        return step % (self._every or STEPS_BETWEEN_LOSSES) == 0

    def _note_step(self) -> None:
        values = {"train/loss": self.learn.smooth_loss, "train/loss_raw": self.learn.loss.detach()}
        if self._gradient is not None:
            values["train/gradient_norm"], self._gradient = self._gradient, None
        for name, hypers in zip(group_names(len(self.opt.hypers)), self.opt.hypers):
            values[f"lr/{name}"] = hypers["lr"]
            if "mom" in hypers:
                values[f"momentum/{name}"] = hypers["mom"]
        self._points.append((self.learn.epoch_timer.run_step, values))

    def _write_steps(self) -> None:
        tensors = [value for _, values in self._points for value in values.values() if isinstance(value, Tensor)]
        read = iter(to_host(tensors))  # together: each waits for the device
        for step, values in self._points:
            for tag, value in values.items():
                self.writer.add_scalar(tag, next(read).item() if isinstance(value, Tensor) else value, step)
        self._points = []

    def on_row(self, row: dict[str, Any]) -> None:
        for column, tag in EPOCH_TAGS.items():
            if column in row:
                self.writer.add_scalar(tag, row[column], row["epoch"])
        for column in (column for column in row if "/" in column):
            self.writer.add_scalar(column, row[column], row["epoch"])
        self.writer.add_scalar("time/warmup_epoch", float(row["warmup"]), row["epoch"])
        for tag, size in memory_tags().items():
            self.writer.add_scalar(tag, size, row["epoch"])

    def hparams(self, hparams: dict[str, Any], metrics: dict[str, float]) -> None:
        """Write the run's hyperparameters and results."""
        write_hparams(self.writer, hparams, metrics)

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps: the event files, each with its size in bytes."""
        self.writer.flush()
        return {"files": {file.name: file.stat().st_size for file in self._files()}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Cut off what was written after `state_dict` was taken: it is going to come again, at the same steps."""
        self.writer.close()
        for file in self._files():
            if file.name in state["files"]:
                os.truncate(file, min(file.stat().st_size, state["files"][file.name]))
            else:
                file.unlink()
        self.writer = SummaryWriter(str(self._folder))

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("events.out.tfevents.*"))

    def close(self) -> None:
        """Flush and close the event file; safe to call twice."""
        self.writer.close()


def write_hparams(writer: SummaryWriter, hparams: dict[str, Any], metrics: dict[str, float]) -> None:
    """Write hyperparameters and results into the file of `writer`; its ``add_hparams`` would open another."""
    for summary in summaries(hparams, metrics):
        writer.file_writer.add_summary(summary)
    for name, value in metrics.items():
        writer.add_scalar(name, value)
