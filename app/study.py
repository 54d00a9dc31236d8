"""Run the four experiments of a study: two ways to train, each once and repeatedly.

study = Study(args, device, folder, spec, make_loaders)
study.run()
study.conclude()
"""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from fastai.callback.core import Callback
from fastai.callback.progress import ProgressCallback
from fastai.data.core import DataLoaders
from fastai.torch_core import set_seed

import models
from app import report, study_report
from app.capabilities import cpu_name
from app.speed_args import COMPARISONS
from callbacks.autocast import Autocast
from callbacks.compile import CompileForward
from callbacks.memory_format import ChannelsLast
from callbacks.tensorboard import TensorBoard
from callbacks.timing import EpochTimer
from models import Spec

LAYOUTS = ("single", "repeated")


class Study:
    """Two ways to train the same network from the same weights on the same batches.

    Attributes
    ----------
    rows : dict[str, list[dict]]
        Per experiment ("single eager", ...), a row per epoch: the EpochTimer's, with ``run``.
    """

    def __init__(
        self, args: Any, device: torch.device, folder: Path, spec: Spec, make_loaders: Callable[[], DataLoaders]
    ):
        self.args, self.device, self.folder, self.spec = args, device, folder, spec
        self.names = COMPARISONS[args.compare]
        self.compiled = CompileForward()  # one for all runs: compiled once, used again
        self.rows: dict[str, list[dict]] = {}
        set_seed(args.seed)
        self._learn = models.learner(make_loaders(), spec)
        self._learn.remove_cb(ProgressCallback)
        self._learn.unfreeze()
        self._start = copy.deepcopy(self._learn.model.state_dict())
        chip = torch.cuda.get_device_name(device) if device.type == "cuda" else cpu_name()
        self.chip = f"{chip} ({device.type})"

    def run(self) -> bool:
        """Run everything; return False when Ctrl-C ended it. What was measured is on disk in any case."""
        try:
            for layout in LAYOUTS:
                for number in range(1, 1 + (self.args.runs if layout == "repeated" else 1)):
                    for name in self.names:
                        self._run_once(f"{layout} {name}", name, number)
        except KeyboardInterrupt:
            report.say("interrupted: what was measured so far is kept")
            return False
        return True

    def conclude(self) -> None:
        """Chart, TensorBoard and the comparison on standard output."""
        study_report.write_chart(self)
        for experiment, rows in self.rows.items():
            self._write_board(experiment, rows)
        print("\n".join(study_report.comparison(self.rows, self.names, self.compiled)))
        print(f"written: {self.folder}")

    def _run_once(self, experiment: str, name: str, number: int) -> None:
        learn, timer = self._learn, EpochTimer()
        set_seed(self.args.seed)
        learn.model.load_state_dict(self._start)
        learn.opt = None  # a new one is made for the fit
        with learn.no_logging():
            rate = self.spec.recipe.lr["adam"]
            learn.fit_one_cycle(self.args.epochs, rate, cbs=[timer, *self._callbacks(name)])
        self.rows.setdefault(experiment, []).extend({"run": number, **row} for row in timer.rows)
        study_report.write_tables(self, experiment)
        seconds = ", ".join(f"{row['train_seconds']:.2f}" for row in timer.rows)
        report.say(f"{experiment}, run {number}: train epochs of {seconds} s")

    def _callbacks(self, name: str) -> list[Callback]:
        made: list[Callback] = []
        if name == "bf16" or self.args.amp == "bf16":
            made.append(Autocast("bf16"))
        if name == "channels_last" or self.args.channels_last:
            made.append(ChannelsLast())
        return [*made, self.compiled] if name == "compiled" else made

    def _write_board(self, experiment: str, rows: list[dict]) -> None:
        board = TensorBoard(self.folder / experiment.replace(" ", "-"))
        for step, row in enumerate(rows, start=1):
            for column in ("train_seconds", "valid_seconds", "train_loss", "valid_loss"):
                board.writer.add_scalar(column, row[column], step)
        later = study_report.later(rows)
        kept = ("arch", "img_size", "batch_size", "epochs", "runs", "compare", "amp")
        hparams = {key: getattr(self.args, key) for key in kept} | {"experiment": experiment, "device": self.chip}
        board.hparams(hparams, {"hparam/train_seconds": study_report.mean(later, "train_seconds")})
        board.close()
