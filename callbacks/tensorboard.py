"""Write the epochs' timings, losses and metrics to TensorBoard: one writer and one growing step a run.

    learn.fine_tune(3, cbs=[EpochTimer(), TensorBoard("runs/today")])
    # tensorboard --logdir runs

Tags that end in ``_epoch`` or stand under ``valid/`` count epochs; ``train/loss`` counts steps. What other callbacks
add to the row under a name with a slash is written under it.
"""

import os
from pathlib import Path
from typing import Any

from torch.utils.tensorboard import SummaryWriter
from torch.utils.tensorboard.summary import hparams as summaries

from callbacks.host import to_host
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


class TensorBoard(RowCallback):
    """Needs `callbacks.timing.EpochTimer` on the same Learner. `close` writes what is buffered.

    Parameters
    ----------
    every
        Steps between two losses that are written; with None they are the usual number, and read together when
        the epoch ends.
    """

    run_valid = False

    def __init__(self, folder: str | Path, every: int | None = STEPS_BETWEEN_LOSSES):
        self._folder, self._every, self.writer = Path(folder), every, SummaryWriter(str(folder))
        self._losses, self._points = [], []

    def before_fit(self):
        self.run = not hasattr(self.learn, "lr_finder")

    def after_batch(self):
        if self.learn.epoch_timer.run_step % (self._every or STEPS_BETWEEN_LOSSES) == 0:
            self._note_step()
            if self._every:
                self._write_steps()

    def after_train(self):  # an epoch of a small data set may have fewer steps than that
        if self.learn.epoch_timer.run_step % (self._every or STEPS_BETWEEN_LOSSES):
            self._note_step()
        self._write_steps()

    def _note_step(self) -> None:
        self._losses.append(self.learn.smooth_loss)
        self._points.append((self.learn.epoch_timer.run_step, self.opt.hypers[-1]["lr"]))

    def _write_steps(self) -> None:
        for loss, (step, rate) in zip(to_host(self._losses), self._points):
            self.writer.add_scalar("train/loss", loss.item(), step)
            self.writer.add_scalar("train/lr", rate, step)
        self._losses, self._points = [], []

    def on_row(self, row: dict[str, Any]) -> None:
        for column, tag in EPOCH_TAGS.items():
            if column in row:
                self.writer.add_scalar(tag, row[column], row["epoch"])
        for column in (column for column in row if "/" in column):
            self.writer.add_scalar(column, row[column], row["epoch"])
        self.writer.add_scalar("time/warmup_epoch", float(row["warmup"]), row["epoch"])

    def hparams(self, hparams: dict[str, Any], metrics: dict[str, float]) -> None:
        """Write the run's hyperparameters and results into its own file; ``add_hparams`` would open another."""
        for summary in summaries(hparams, metrics):
            self.writer.file_writer.add_summary(summary)
        for name, value in metrics.items():
            self.writer.add_scalar(name, value)

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
