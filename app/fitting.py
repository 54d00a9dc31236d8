"""The training itself: settle what was left open, then run the phases with the callbacks.

settings = settle(args, spec, scan)
outcome = fit(learn, settings, folder)
"""

from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastai.callback.core import Callback
from fastai.callback.progress import ProgressCallback
from fastai.learner import Learner
from fastai.torch_core import set_seed

from app import report
from app.phases import plan, run
from app.rate_finder import find_rate
from app.settings import NOT_SETTINGS, dump
from callbacks.accumulate import Accumulate
from callbacks.best import KeepBest
from callbacks.console import Console
from callbacks.finite import NonFiniteLoss, StopOnNonFinite
from callbacks.interrupt import Interruptible
from callbacks.results import ResultsCSV
from callbacks.tensorboard import TensorBoard
from callbacks.timing import EpochTimer
from data import Scan
from models import Spec


@dataclass(frozen=True)
class Outcome:
    """How a fit ended: the best epoch's row, or None before the first; and whether it was interrupted."""

    best: dict[str, Any] | None
    interrupted: bool


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
        "epochs": recipe.epochs,
        "freeze_epochs": recipe.freeze_epochs,
        "batch_size": recipe.batch_size,
        "lr": recipe.lr[args.opt],
        "wd": recipe.wd[args.opt],
    }
    always = ("source", "csv", "csv_columns", "arch", "pretrained", "img_size")
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
    return settings


def _absolute(path: str | None) -> str | None:
    return None if path is None else str(Path(path).resolve())


def seed_everything(seed: int) -> None:
    """Seed Python, NumPy and torch, and take deterministic cuDNN kernels."""
    set_seed(seed % 2**32, reproducible=True)


def fit(
    learn: Learner,
    settings: dict[str, Any],
    folder: Path,
    cbs: Sequence[Callback] = (),
    save: Callable[[], None] = lambda: None,
) -> Outcome:
    """Train in place, with `cbs` beside our own; the Learner ends with the weights of its best epoch.

    When it fails after an epoch, for another reason than its loss, `save` is called on those weights.

    Raises
    ------
    callbacks.finite.NonFiniteLoss
        The loss became infinite or not a number.
    """
    best, interrupt, board = KeepBest(), Interruptible(), TensorBoard(folder)
    results = ResultsCSV(folder / "results.csv")
    ours = [EpochTimer(), StopOnNonFinite(), Console(report.tell), results, board, best, interrupt, *cbs]
    if settings["accumulate"] > 1:
        ours.append(Accumulate(settings["batch_size"] * settings["accumulate"]))
    learn.remove_cb(ProgressCallback)  # Console takes its place
    learn.add_cbs(ours)
    try:
        if settings["lr"] == "find":  # Ctrl-C ends it at once: nothing is learned yet
            settings["lr"] = find_rate(learn, folder)
            dump(folder / "args.yaml", settings)
        with interrupt.caught(), learn.no_logging():
            for phase in plan(settings):
                run(learn, phase, settings, folder)
            best.restore()
    except NonFiniteLoss:
        raise
    except Exception:
        if best.row is not None:
            best.restore()
            with suppress(Exception):  # what ended the training may end this too, and is what has to be said
                save()
                report.say(f"the best epoch so far is in {folder / 'model.pkl'}")
        raise
    finally:
        board.close()
        learn.remove_cbs(ours)
        learn.remove_cb(Accumulate)
    return Outcome(best.row, interrupt.requested)
