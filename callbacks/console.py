"""A row per epoch on standard output, and a progress bar while it runs, on a terminal's standard error.

learn.fine_tune(3, cbs=[EpochTimer(), Console()])
"""

import math
import sys
from collections.abc import Callable
from typing import Any

from tqdm import tqdm

from callbacks.timing import RowCallback

HEADER = "epoch  phase     train_loss  valid_loss  accuracy      f1  train_s  wait_s  valid_s  images/s"


class Console(RowCallback):
    """Needs `callbacks.timing.EpochTimer` on the same Learner; replaces fastai's ProgressCallback.

    Parameters
    ----------
    write
        Takes each line of the table.
    """

    def __init__(self, write: Callable[[str], None] = print):
        self.write, self._bar, self._headed = write, None, False

    def before_fit(self):
        self.run = not (hasattr(self.learn, "lr_finder") or hasattr(self.learn, "gather_preds"))

    def before_train(self):
        self._open("train")

    def before_validate(self):
        self._open("valid")

    def after_batch(self):
        self._bar.update()

    def after_train(self):
        self._bar.close()

    def after_validate(self):
        self._bar.close()

    def after_cancel_fit(self):
        if self._bar is not None:
            self._bar.close()

    def on_row(self, row: dict[str, Any]) -> None:
        if not self._headed:
            self.write(HEADER)
            self._headed = True
        self.write(
            f"{row['epoch']:>5}  {row['phase']:<8}  {row['train_loss']:>10.4f}  {row['valid_loss']:>10.4f}  "
            f"{row.get('accuracy', math.nan):>8.4f}  {row.get('f1', math.nan):>6.4f}  "
            f"{row['train_seconds']:>7.1f}  {row['data_wait']:>6.1f}  {row['valid_seconds']:>7.1f}  "
            f"{row['images_per_second']:>8.1f}{'  (set-up time included)' if row['warmup'] else ''}"
        )

    def _open(self, part: str) -> None:
        label = f"epoch {self.learn.epoch_timer.run_epoch} {part}"
        # disable=None: no bar where standard error is not a terminal
        self._bar = tqdm(total=len(self.dl), desc=label, file=sys.stderr, leave=False, disable=None, unit="batch")
