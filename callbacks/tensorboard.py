"""Write the epochs' timings, losses and metrics to TensorBoard: one writer and one growing step a run.

    learn.fine_tune(3, cbs=[EpochTimer(), TensorBoard("runs/today")])
    # tensorboard --logdir runs

Tags that end in ``_epoch`` or stand under ``valid/`` count epochs; ``train/loss`` counts steps.
"""

import os
from pathlib import Path
from typing import Any

from torch.utils.tensorboard import SummaryWriter
from torch.utils.tensorboard.summary import hparams as summaries

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
    """Needs `callbacks.timing.EpochTimer` on the same Learner. `close` writes what is buffered."""

    run_valid = False

    def __init__(self, folder: str | Path):
        self._folder, self.writer = Path(folder), SummaryWriter(str(folder))

    def before_fit(self):
        self.run = not hasattr(self.learn, "lr_finder")

    def after_batch(self):
        if self.learn.epoch_timer.run_step % STEPS_BETWEEN_LOSSES == 0:
            self._write_step()

    def after_train(self):  # an epoch of a small data set may have fewer steps than that
        if self.learn.epoch_timer.run_step % STEPS_BETWEEN_LOSSES:
            self._write_step()

    def _write_step(self) -> None:
        step = self.learn.epoch_timer.run_step
        self.writer.add_scalar("train/loss", self.learn.smooth_loss.item(), step)
        self.writer.add_scalar("train/lr", self.opt.hypers[-1]["lr"], step)

    def on_row(self, row: dict[str, Any]) -> None:
        for column, tag in EPOCH_TAGS.items():
            if column in row:
                self.writer.add_scalar(tag, row[column], row["epoch"])
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
