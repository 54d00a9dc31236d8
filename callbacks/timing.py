"""Time every epoch, train and valid apart, and count epochs and steps over the whole run.

timer = EpochTimer()
learn.fine_tune(3, cbs=timer)
timer.rows[-1]["train_seconds"], timer.rows[-1]["images_per_second"]
"""

import time
from collections.abc import Iterator
from typing import Any

from fastai.callback.core import Callback

from callbacks.host import synchronize


class WaitedFor:
    """A loader in whose place it stands, with the ``seconds`` that were spent in waiting for its batches."""

    def __init__(self, loader: Any):
        self.loader, self.seconds = loader, 0.0

    def __len__(self) -> int:
        return len(self.loader)

    def __getattr__(self, name: str) -> Any:
        if name == "loader":  # not there yet, while it is copied or unpickled
            raise AttributeError(name)
        return getattr(self.loader, name)

    def __iter__(self) -> Iterator[Any]:
        batches = iter(self.loader)
        while True:
            started = time.perf_counter()
            batch = next(batches, None)
            self.seconds += time.perf_counter() - started
            if batch is None:
                return
            yield batch


class EpochTimer(Callback):
    """Keeps one row per epoch; fastai's own counters restart at every fit, these do not.

    Attributes
    ----------
    run_epoch : int
        Epochs begun, over all fits of the run.
    run_step : int
        Training batches done, over all fits of the run.
    row : dict or None
        The row of the epoch that has just ended; None after ``validate``, ``get_preds`` or ``lr_find``.
    rows : list[dict]
        All rows. Per epoch: ``epoch`` (from 1), ``phase`` ("frozen" while some parameter group is, else
        "unfrozen"), the Recorder's losses and metrics by name, ``train_seconds``, ``valid_seconds``,
        ``images_per_second`` (training images over training seconds), ``data_wait`` (those of the training seconds in
        which the next batch was waited for), and ``warmup`` (True for the first
        epoch after a phase begins, which pays for allocation, compilation and cold caches).
    """

    order = 55  # after the Recorder (50), whose numbers a row takes; before what shows the row (60 and up)

    def __init__(self):
        self.run_epoch, self.run_step, self.rows = 0, 0, []
        self.row, self._images, self._seconds = None, 0, {"train": 0.0, "valid": 0.0}
        self._waited: WaitedFor | None = None
        self._warm: str | None = None  # the phase that this process has run an epoch of

    def add(self, row: dict[str, Any]) -> None:
        """Take the row of something that is no epoch of fastai's, and show it to every `RowCallback`."""
        self.rows.append(row)
        for callback in self.learn.cbs.sorted("order"):
            if isinstance(callback, RowCallback):
                callback.on_row(row)

    def before_fit(self):
        self.row = None
        self.run = not hasattr(self.learn, "lr_finder")

    def before_epoch(self):
        self.row, self._images, self._seconds = None, 0, {"train": 0.0, "valid": 0.0}

    def before_train(self):
        self.run_epoch += 1
        self.learn.dl = self._waited = WaitedFor(self.learn.dl)
        self._started = self._now()

    def after_batch(self):
        if self.training:
            self.run_step += 1
            self._images += len(self.learn.xb[0])

    def after_train(self):
        self._seconds["train"] = self._now() - self._started
        if self.learn.dl is self._waited:
            self.learn.dl = self._waited.loader

    def before_validate(self):
        self._started = self._now()

    def after_validate(self):
        self._seconds["valid"] = self._now() - self._started

    def after_epoch(self):
        if not self._images:
            return  # nothing was trained
        phase = "frozen" if self.opt.frozen_idx > 0 else "unfrozen"
        train_seconds = self._seconds["train"]
        self.row = {
            "epoch": self.run_epoch,
            "phase": phase,
            **self._recorded(),
            "train_seconds": train_seconds,
            "valid_seconds": self._seconds["valid"],
            "images_per_second": self._images / train_seconds,
            "data_wait": self._waited.seconds,
            "warmup": self._warm != phase,
        }
        self._warm = phase
        self.rows.append(self.row)

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps, between two epochs."""
        return {"rows": self.rows, "run_step": self.run_step}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Count on from where `state_dict` was taken."""
        self.rows, self.run_step = list(state["rows"]), state["run_step"]
        self.run_epoch = self.rows[-1]["epoch"] if self.rows else 0

    def _recorded(self) -> dict[str, float]:
        recorder: Any = self.learn.recorder
        names = [name for name in recorder.metric_names if name not in ("epoch", "time")]
        return dict(zip(names, recorder.values[-1])) if recorder.values else {}

    def _now(self) -> float:
        synchronize(next(self.learn.model.parameters()).device)
        return time.perf_counter()


class RowCallback(Callback):
    """Base of what shows or keeps an epoch's row: `on_row` is called with each. Needs an `EpochTimer`."""

    order = 60  # after EpochTimer (55)

    def after_epoch(self):
        if self.learn.epoch_timer.row is not None:
            self.on_row(self.learn.epoch_timer.row)

    def on_row(self, row: dict[str, Any]) -> None:
        """Take the row of the epoch that has just ended."""
        raise NotImplementedError
