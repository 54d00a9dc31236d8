"""The training itself: the probe and the phases, with the callbacks.

outcome = fit(learn, settings, folder, open_board(settings, folder))
"""

import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastai.callback.core import Callback
from fastai.callback.progress import ProgressCallback
from fastai.learner import Learner
from torch import Tensor

from app import report
from app.errors import Terminated
from app.phases import run_phases
from app.probing import probe
from app.rate_finder import find_rate
from app.resuming import unusable
from app.settings import dump
from callbacks.accumulate import Accumulate
from callbacks.best import KeepBest
from callbacks.checkpoint import Checkpoint
from callbacks.checkpoint_file import CheckpointError
from callbacks.console import Console
from callbacks.ema import AveragedWeights
from callbacks.finite import NonFiniteLoss, StopOnNonFinite
from callbacks.first_batch import FirstBatch
from callbacks.fixed_norm import FixedBatchNorm
from callbacks.interrupt import Interruptible
from callbacks.results import ResultsCSV
from callbacks.tensorboard import TensorBoard
from callbacks.timing import EpochTimer

STEPS_BETWEEN_READINGS = 10  # of the loss: each waits for the device


@dataclass(frozen=True)
class Outcome:
    """How a fit ended."""

    best: dict[str, Any] | None
    """The best epoch's row; None before the first has ended."""

    steps: int
    """Batches that were trained on."""

    interrupted: int
    """The number of the signal that ended it, or 0."""

    rows: list[dict[str, Any]]
    """Of all epochs, the probe's included."""

    batch: tuple[Tensor, Tensor] | None
    """The first training images as the network got them, and their labels; None before the first step."""


def open_board(settings: dict[str, Any], folder: Path) -> TensorBoard:
    """The run's events; to be closed when nothing is left to be written."""
    return TensorBoard(folder, _steps_between_readings(settings))


def _steps_between_readings(settings: dict[str, Any]) -> int | None:
    """Steps between two losses that are read; None for once an epoch."""
    return settings["log_every"] or (None if settings["device"] == "xla" else STEPS_BETWEEN_READINGS)


def fit(
    learn: Learner,
    settings: dict[str, Any],
    folder: Path,
    board: TensorBoard,
    prepare: Callable[[], Sequence[Callback]] = tuple,
    save: Callable[[], None] = lambda: None,
    state: dict[str, Any] | None = None,
) -> Outcome:
    """Train in place, with a linear probe first where `settings` says so; end with the weights of the best epoch.

    When it fails after the probe or an epoch, `save` is called on those weights.

    Parameters
    ----------
    prepare
        Called when there are epochs to come, after the probe; the callbacks it returns are added to our own.
    state
        A checkpoint of this run, to go on from.

    Raises
    ------
    callbacks.finite.NonFiniteLoss
        The loss became infinite or not a number.
    """
    timer, best, interrupt = EpochTimer(), KeepBest(settings["monitor"]), Interruptible()
    first = FirstBatch()
    results, checkpoint = ResultsCSV(folder / "results.csv"), _checkpoint(learn, settings, folder)
    learn.remove_cb(ProgressCallback)  # Console takes its place
    others = list(learn.cbs)
    finite = StopOnNonFinite(_steps_between_readings(settings))
    learn.add_cbs([timer, finite, Console(report.tell), results, board, best, checkpoint, interrupt, first])
    try:
        with learn.no_logging():
            if settings["probe"] and state is None:
                with interrupt.caught():
                    probe(learn, settings)
            if settings["epochs"] + settings["freeze_epochs"] and not interrupt.requested:
                _train(learn, settings, folder, prepare, state)
            best.restore()
        if best.row is not None:
            report.say_kept(best.row, learn.epoch_timer.rows)
    except CheckpointError as error:  # nothing was trained, and what the run has stays as it is
        raise unusable(folder, error) from error
    except Exception as error:
        if best.row is not None:
            best.restore()
            with suppress(Exception):  # what ended the training may end this too, and is what has to be said
                save()
                report.say_best(folder, best.row)
        if checkpoint.written and not isinstance(error, NonFiniteLoss):  # which would come again
            report.say_resume(folder)
        raise
    finally:
        learn.remove_cbs([callback for callback in learn.cbs if callback not in others])
    return Outcome(best.row, timer.run_step, interrupt.requested, timer.rows, first.batch)


def _train(
    learn: Learner,
    settings: dict[str, Any],
    folder: Path,
    prepare: Callable[[], Sequence[Callback]],
    state: dict[str, Any] | None,
) -> None:
    """Settle what is left, and run the phases; Ctrl-C before the first of them ends what was begun at once."""
    interrupt = learn.interruptible
    try:
        learn.add_cbs(prepare())
        if not settings["train_bn"]:
            learn.add_cb(FixedBatchNorm())
        if settings["ema"]:
            learn.add_cb(AveragedWeights(settings["ema"]))
        if settings["accumulate"] > 1:
            learn.add_cb(Accumulate(settings["batch_size"] * settings["accumulate"]))
        if settings["lr"] == "find":
            settings["lr"] = find_rate(learn, folder)
        dump(folder / "args.yaml", settings)
    except KeyboardInterrupt as stop:
        if learn.keep_best.row is None:
            raise
        # The probe is kept.
        interrupt.requested = signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT
        return
    if state is not None:  # now that all callbacks are there that have something of it
        learn.checkpoint.resume(state)
        learn.results_csv.write()  # where nothing is left to be trained, no row is
        report.say(f"resumed after epoch {learn.epoch_timer.run_epoch}")
    with interrupt.caught():
        run_phases(learn, settings, folder)


def _checkpoint(learn: Learner, settings: dict[str, Any], folder: Path) -> Checkpoint:
    classes = list(learn.dls.vocab)
    # The settings as they are by then: where memory runs out, they change.
    return Checkpoint(
        folder / "checkpoints", settings["checkpoint_every"], lambda: {"args": settings, "classes": classes}
    )
