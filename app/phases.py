"""What a training consists of: phases, one after the other, each a one-cycle fit of so many epochs.

run_phases(learn, settings, folder)         # what is left of plan(settings)
"""

from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import torch
from fastai.learner import Learner

from app import report
from app.batch_size import is_out_of_memory, set_batch_size
from app.settings import dump
from app.xla import training_device
from callbacks.accumulate import Accumulate
from callbacks.early_stopping import EarlyStopping
from callbacks.linear_decay import LinearDecay
from callbacks.progressive_resizing import ProgressiveResizing
from data.counting import counted
from models.airbench_training import RESIZING, ends, penalties, rates

SMALLEST_BATCH = 2  # batch normalisation needs two images
BODY_DIVISOR = 100  # the body's first layers train this much slower than the head, as in fastai's fine_tune
FINE = {"pct_start": 0.3, "div": 5.0}  # of the cycle that trains the whole network, as there


@dataclass(frozen=True)
class Phase:
    """One fit."""

    name: str
    """``frozen``: the head alone is trained; ``unfrozen``: the whole network."""

    epochs: int

    rate: float | slice
    """Peak learning rate; a slice spreads it over the parameter groups, the first layers' first."""

    options: dict[str, float] = field(default_factory=dict)
    """Of ``fit_one_cycle``."""

    linear: bool = False
    """Rates fall in a straight line instead, each group's of `models.airbench_training` to its own end; on a CPU the
    first epochs are trained on smaller images."""


def plan(settings: dict[str, Any]) -> list[Phase]:
    """The phases of a training, from its settled settings; those without epochs are left out.

    fastai's fine_tune where there are pretrained weights, else one cycle for the whole network. After a probe all
    layers have the same rate: the head is as good as it can be for the body as it is, and a larger one spoils it.
    """
    rate, frozen = settings["lr"], settings["freeze_epochs"]
    if settings["opt"] == "muon":
        return [Phase("unfrozen", settings["epochs"], rate, linear=True)]
    rates, options = rate, {}
    if settings["probe"]:
        options = FINE
    elif settings["pretrained"]:
        highest = rate / 2 if frozen else rate
        rates, options = slice(highest / BODY_DIVISOR, highest), FINE
    phases = [Phase("frozen", frozen, rate, {"pct_start": 0.99}), Phase("unfrozen", settings["epochs"], rates, options)]
    return [phase for phase in phases if phase.epochs]


def left(phases: list[Phase], rows: list[dict[str, Any]]) -> list[Phase]:
    """The phases from that of the last of `rows` on: after its last epoch too, a resumed run has to pass through it."""
    names = [phase.name for phase in phases]
    last = rows[-1]["phase"] if rows else None
    return phases[names.index(last) :] if last in names else phases


def run_phases(learn: Learner, settings: dict[str, Any], folder: Path) -> None:
    """Run what is left of the phases, until they get no better."""
    patience = EarlyStopping(settings["patience"]) if settings["patience"] else None
    learn.add_cbs(patience)
    try:
        for phase in left(plan(settings), learn.epoch_timer.rows):
            if patience is not None and patience.stopped:
                break
            run(learn, phase, settings, folder)
        if patience is not None and patience.stopped:
            best = learn.keep_best.row["epoch"]
            report.say(f"stopped early: no epoch since {best} was better (--patience {patience.patience})")
    finally:
        learn.remove_cbs(patience)


def run(learn: Learner, phase: Phase, settings: dict[str, Any], folder: Path) -> None:
    """Train one phase in place, from the epoch on that has no row yet.

    Where memory runs out, the epoch begins again with half the batch, accumulated.
    """
    set_trained(learn, phase.name)
    timer = learn.epoch_timer
    while True:
        try:
            done = sum(row["phase"] == phase.name for row in timer.rows)
            _fit(learn, phase, settings, done)
            return
        except Exception as error:
            if not is_out_of_memory(error) or settings["batch_size"] < 2 * SMALLEST_BATCH:
                raise
        timer.run_epoch = timer.rows[-1]["epoch"] if timer.rows else 0  # the epoch that failed has no row
        _halve_batch(learn, settings)
        dump(folder / "args.yaml", settings)


def set_trained(learn: Learner, phase: str) -> None:
    """Let the parameters be trained that a phase of this name trains."""
    if phase == "frozen":
        learn.freeze()
    else:
        learn.unfreeze()


def _fit(learn: Learner, phase: Phase, settings: dict[str, Any], done: int) -> None:
    wd, batch = settings["wd"], settings["batch_size"] * settings["accumulate"]
    if not phase.linear:
        learn.fit_one_cycle(phase.epochs, phase.rate, wd=wd, start_epoch=done, **phase.options)
        return
    peaks = rates(learn.model, phase.rate, batch)
    pays = training_device(learn, settings).type == "cpu" and settings["compile"] == "off"  # no graph for each size
    resizing = ProgressiveResizing(RESIZING if pays else ())
    _say_sizes(resizing, settings["img_size"], phase.epochs)
    callbacks = [LinearDecay(peaks, ends(phase.epochs)), resizing]
    learn.fit(phase.epochs, peaks, wd=penalties(learn.model, phase.rate, wd), cbs=callbacks, start_epoch=done)


def _say_sizes(resizing: ProgressiveResizing, size: int, epochs: int) -> None:
    sides = groupby(resizing.side(size, epoch, epochs) for epoch in range(epochs))
    parts = [f"{counted(len(list(same)), 'epoch')} at {side} px" for side, same in sides]
    report.say(f"image sizes: {', '.join(parts)}")


def _halve_batch(learn: Learner, settings: dict[str, Any]) -> None:
    """Half the images per batch, twice the batches per step."""
    learn("after_cancel_fit")  # closes the progress bar
    learn.opt.zero_grad()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    was = settings["batch_size"]
    settings["batch_size"], settings["accumulate"] = was // 2, settings["accumulate"] * 2
    set_batch_size(learn, settings["batch_size"])
    learn.remove_cb(Accumulate)
    learn.add_cb(Accumulate(settings["batch_size"] * settings["accumulate"]))
    report.warn(
        f"out of memory with batches of {was}: going on with {settings['batch_size']}, "
        f"{settings['accumulate']} of them for a step"
    )
