"""Everything that makes a training faster on its device: settled, said, written down, and made into callbacks.

speed = Speed(learn, settings)              # what cannot be done is refused here
learn.fit(1, cbs=speed.settle())            # settings["amp"], ["memory_format"] and ["compile"] are settled
speed.say_end()
"""

from typing import Any

import torch
from fastai.callback.core import Callback
from fastai.learner import Learner

from app import report
from app.augmentation import device_augmentation
from app.batch_size import probe, set_batch_size
from app.capabilities import gpu_verdicts
from app.compiling import check_compile, choose_compile, learn_from, obstacle
from app.precision import SHORT, check_asked, choose_way
from app.tf32 import set_tf32
from app.trial import Work, step_seconds
from app.xla import training_callbacks, training_device, write_metrics
from callbacks.autocast import Autocast
from callbacks.compile import CompileForward, CompileSeconds
from callbacks.memory_format import ChannelsLast
from callbacks.steps import StepTimer
from data.counting import counted
from data.normalize import lay_out


class Speed:
    """What a run does to be fast; makes the choices that were left open, and says each with its reason.

    Attributes
    ----------
    way : Way
        Precision and memory format.
    callbacks : list[Callback]
        Those that `settle` has made.
    """

    def __init__(self, learn: Learner, settings: dict[str, Any], *, probe_batch: bool = False):
        device = training_device(learn, settings)
        check_asked(settings["amp"], device)
        check_compile(settings["compile"], device)
        self._learn, self._settings, self._probe_batch = learn, settings, probe_batch
        self._step, self._compiled, self._timer, self.callbacks = None, None, StepTimer(), []

    def settle(self) -> list[Callback]:
        """Make the choices, and the callbacks to be added to the Learner for the fit: it may take seconds of trying."""
        learn, settings = self._learn, self._settings
        self._work = Work.of(learn, settings)
        if self._work.device.type == "cuda":
            _settle_tf32(settings, self._work.device)
        self.way, reason = choose_way(learn, self._work, settings["amp"], settings["memory_format"])
        report.say(f"precision: {self.way} ({reason})")
        if self._probe_batch:
            self._settle_batch_size(settings)
        if settings["compile"] != "off" and obstacle(self._work.device) is None:
            self._step = self._eager_step(settings["compile"])
        settings["compile"], reason = choose_compile(settings["compile"], learn.model, self._work, self.way, self._step)
        report.say(f"compile: {settings['compile']} ({reason})")
        settings["amp"], settings["memory_format"] = self.way
        lay_out(learn.dls, self.way.memory_format)
        self.callbacks = self._make_callbacks(settings)
        return self.callbacks

    def say_end(self) -> None:
        """What compiling cost and saved, and what fp16 skipped."""
        if self._compiled is not None:
            found = learn_from(self._compiled, self._timer.seconds, self._learn.model, self._work, self.way, self._step)
            report.say(found)
        for callback in self.callbacks:
            if isinstance(callback, Autocast) and callback.skipped:
                report.say(f"fp16: {counted(callback.skipped, 'step')} skipped, where gradients overflowed")
        if self._settings["xla_metrics"] and self._settings["device"] == "xla":
            report.say(f"XLA metrics: {write_metrics(self._learn.path)}")

    def _settle_batch_size(self, settings: dict[str, Any]) -> None:
        reason = "by architecture: memory is probed on CUDA GPUs alone"
        if self._work.device.type == "cuda":
            images = len(self._learn.dls.train_ds)
            settings["batch_size"], reason = probe(self._learn, self._work, self.way, images)
            set_batch_size(self._learn, settings["batch_size"])
            self._work = Work.of(self._learn, settings)
        report.say(f"batch size: {settings['batch_size']} ({reason})")

    def _eager_step(self, asked: str) -> float | None:
        """Seconds of an eager step; None on a CPU where there is too little to do for compiling to be thought of."""
        seconds = step_seconds(self._learn, self._work, [self.way])[self.way]
        short = self._work.device.type == "cpu" and seconds * self._work.images < SHORT
        return None if short and asked == "auto" else seconds * self._work.batch_size

    def _make_callbacks(self, settings: dict[str, Any]) -> list[Callback]:
        made: list[Callback] = [*training_callbacks(settings), *device_augmentation(settings)]
        if self.way.amp != "off":
            made.append(Autocast(self.way.amp))
        if self.way.memory_format == "channels_last":
            made.append(ChannelsLast())
        if settings["compile"] == "on":
            self._compiled = CompileForward(settings["compile_mode"])
            made += [self._compiled, CompileSeconds(), self._timer]
        return made


def _settle_tf32(settings: dict[str, Any], device: torch.device) -> None:
    verdict = gpu_verdicts(torch.cuda.get_device_capability(device))["tf32"]
    on = settings["tf32"] and verdict.pays
    set_tf32(on)
    report.say(f"TF32: {'on' if on else 'off'} ({verdict.why if settings['tf32'] else 'as asked'})")
