"""Time a few training steps of a copy of the model, before anything is trained.

work = Work.of(learn, settings)             # what is to be trained, and how much of it
seconds = step_seconds(learn, work, [Way("off", "contiguous"), Way("bf16", "channels_last")])
"""

import copy
import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from fastai.learner import Learner
from torch import nn

from app.xla import training_device
from callbacks.autocast import DTYPES
from callbacks.timing import synchronize

PIXELS = 8 * 224 * 224  # of a step that is timed: enough to keep two cores busy, and little enough to take a second
REPEATS = 3  # the fastest counts: whatever else the machine does can only slow a step down
LIMIT = 20.0  # s, after which the turns end, with one at least: steps are slow where other work takes the processor
FORMATS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}


class Way(NamedTuple):
    """A way to train: ``off``, ``bf16`` or ``fp16``; ``contiguous`` or ``channels_last``."""

    amp: str
    memory_format: str

    def __str__(self) -> str:
        return " ".join(
            part for part in (self.amp.replace("off", "float32"), self.memory_format) if part != "contiguous"
        )


@dataclass(frozen=True)
class Work:
    """What a training is going to do, as far as its time depends on it."""

    arch: str
    size: int
    batch_size: int
    images: int
    """Training images, over all epochs."""

    phases: int
    """1, or 2 when the body is frozen first."""

    frozen: bool
    """Whether the body is frozen for most epochs."""

    device: torch.device

    @classmethod
    def of(cls, learn: Learner, settings: dict[str, Any]) -> "Work":
        """Read it from the Learner and the settled settings."""
        frozen, unfrozen = settings["freeze_epochs"], settings["epochs"]
        return cls(
            arch=settings["arch"],
            size=settings["img_size"],
            batch_size=settings["batch_size"],
            images=len(learn.dls.train) * settings["batch_size"] * (frozen + unfrozen),
            phases=1 + bool(frozen),
            frozen=frozen > unfrozen,
            device=training_device(learn, settings),
        )

    @property
    def steps(self) -> int:
        """Training steps to come."""
        return self.images // self.batch_size


def step_seconds(learn: Learner, work: Work, ways: list[Way]) -> dict[Way, float]:
    """Seconds per image of a training step, for each of `ways`: the least of `step_turns`."""
    turns = step_turns(learn, work, ways)
    return {way: min(turn[way] for turn in turns) for way in ways}


def step_turns(learn: Learner, work: Work, ways: list[Way]) -> list[dict[Way, float]]:
    """Seconds per image of a training step, for each of `ways`, several times.

    Copies are run, in training mode and with the parameters frozen that will be frozen; the random state is put
    back. The ways take turns, so that a disturbance falls on all.
    """
    images = max(2, min(work.batch_size, PIXELS // work.size**2))
    devices = [work.device] if work.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        x = torch.randn(images, 3, work.size, work.size, device=work.device)
        copies = {layout: Copy(learn, work, layout) for layout in {way.memory_format for way in ways}}
        started, turns = time.perf_counter(), []
        while len(turns) < 2 or (len(turns) <= REPEATS and time.perf_counter() - started < LIMIT):
            turns.append({way: copies[way.memory_format].step(x, way.amp) / images for way in ways})
    return turns[1:]  # the first of each warms up


def milliseconds(seconds: float) -> str:
    """Three digits, or as many as it takes: ``8.25``, ``151``, ``68500``."""
    number = 1e3 * seconds
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"


class Copy:
    """The network of a Learner, copied, with an optimizer of the same kind."""

    def __init__(self, learn: Learner, work: Work, memory_format: str):
        self.layout = FORMATS[memory_format]
        self.model = copy.deepcopy(learn.model).to(work.device).train()
        self.model.to(memory_format=self.layout)
        self.optimizer = learn.opt_func(learn.splitter(self.model), lr=1e-6)
        if not work.frozen:
            self.optimizer.unfreeze()

    def step(self, x: torch.Tensor, amp: str) -> float:
        """Seconds of one training step."""
        device, dtype = x.device, DTYPES.get(amp)
        x, y = x.contiguous(memory_format=self.layout), x.new_zeros(len(x), dtype=torch.long)
        synchronize(device)
        started = time.perf_counter()
        with torch.autocast(device.type, dtype=dtype) if dtype else nullcontext():
            logits = self.model(x)
        nn.functional.cross_entropy(logits.float(), y).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        synchronize(device)
        return time.perf_counter() - started
