"""The training itself: settle what was left open, then run the phases with the callbacks.

settings = settle(args, spec, scan)
outcome = fit(learn, settings, folder)
"""

import signal
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastai.callback.core import Callback
from fastai.callback.progress import ProgressCallback
from fastai.learner import Learner

from app import report
from app.errors import Terminated, UsageError
from app.phases import run_phases
from app.probing import probe
from app.rate_finder import find_rate
from app.settings import NOT_SETTINGS, dump
from app.xla import devices_in_use
from callbacks.accumulate import Accumulate
from callbacks.best import KeepBest
from callbacks.checkpoint import Checkpoint
from callbacks.console import Console
from callbacks.finite import NonFiniteLoss, StopOnNonFinite
from callbacks.fixed_norm import FixedBatchNorm
from callbacks.interrupt import Interruptible
from callbacks.results import ResultsCSV
from callbacks.tensorboard import TensorBoard
from callbacks.timing import EpochTimer
from data import Scan
from models import Spec

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


def settle(args: Namespace, spec: Spec, scan: Scan) -> dict[str, Any]:
    """Every setting with the value that is used, in the form of ``args.yaml``."""
    settings = {key: value for key, value in vars(args).items() if key not in NOT_SETTINGS}
    recipe = spec.recipe
    chosen = {
        "source": args.source if scan.source == "cifar10" else _absolute(args.source),
        "csv": _absolute(args.csv),
        "csv_columns": args.csv_columns and ",".join(args.csv_columns),
        "arch": spec.arch.name,
        "pretrained": spec.pretrained,
        "img_size": spec.image_size,
        "probe": spec.probe,
        "epochs": recipe.epochs,
        "freeze_epochs": recipe.freeze_epochs,
        "batch_size": recipe.batch_size,
        "train_bn": recipe.train_bn,
        "xla_devices": devices_in_use(settings),
        "lr": recipe.lr[args.opt],
        "wd": recipe.wd[args.opt],
    }
    always = ("source", "csv", "csv_columns", "arch", "pretrained", "probe", "img_size", "xla_devices")
    settings |= {key: value for key, value in chosen.items() if key in always or settings[key] is None}
    if settings["batch_size"] == "auto":  # on a GPU, `app.speed` finds another one, when there is a model
        settings["batch_size"] = recipe.batch_size
    if settings["batch_size"] > len(scan.train):
        report.warn(
            f"batch size {settings['batch_size']} is lowered to the {len(scan.train)} training images there are"
        )
        settings["batch_size"] = len(scan.train)
    if settings["freeze_epochs"] and not spec.pretrained:
        report.warn("--freeze-epochs has no meaning without pretrained weights: ignored")
        settings["freeze_epochs"] = 0
    if not spec.pretrained and not settings["train_bn"]:
        report.warn("--no-train-bn has no meaning without pretrained weights: ignored")
        settings["train_bn"] = True
    if not spec.probe and not settings["epochs"] + settings["freeze_epochs"]:
        raise UsageError("--epochs 0: without the probe of a pretrained network nothing would be learned")
    return settings


def _absolute(path: str | None) -> str | None:
    return None if path is None else str(Path(path).resolve())


def fit(
    learn: Learner,
    settings: dict[str, Any],
    folder: Path,
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
    every = settings["log_every"] or (None if settings["device"] == "xla" else STEPS_BETWEEN_READINGS)
    timer, best, interrupt, board = (
        EpochTimer(),
        KeepBest(settings["monitor"]),
        Interruptible(),
        TensorBoard(folder, every),
    )
    results, checkpoint = ResultsCSV(folder / "results.csv"), _checkpoint(learn, settings, folder)
    learn.remove_cb(ProgressCallback)  # Console takes its place
    others = list(learn.cbs)
    learn.add_cbs([timer, StopOnNonFinite(every), Console(report.tell), results, board, best, checkpoint, interrupt])
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
        board.close()
        learn.remove_cbs([callback for callback in learn.cbs if callback not in others])
    return Outcome(best.row, timer.run_step, interrupt.requested)


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
        report.say(f"resumed after epoch {learn.epoch_timer.run_epoch}")
    with interrupt.caught():
        run_phases(learn, settings, folder)


def _checkpoint(learn: Learner, settings: dict[str, Any], folder: Path) -> Checkpoint:
    classes = list(learn.dls.vocab)
    # The settings as they are by then: where memory runs out, they change.
    return Checkpoint(
        folder / "checkpoints", settings["checkpoint_every"], lambda: {"args": settings, "classes": classes}
    )
