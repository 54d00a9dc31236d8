"""Compile the forward of a fit with ``torch.compile``, and leave nothing of it behind.

compiled = CompileForward()
learn.fit_one_cycle(3, cbs=[EpochTimer(), CompileSeconds(), TensorBoard("runs/today"), compiled])
compiled.graphs, compiled.seconds
"""

from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch
from torch import nn
from torch._dynamo.utils import compilation_time_metrics, counters

from callbacks.scoped import CallLayer, ScopedCallback
from callbacks.timing import RowCallback

# Where torch._dynamo notes the seconds of a compilation, and of a backward that is compiled when it first runs.
TIMED = ("_compile.compile_inner", "backward._backward_impl")


class CompileForward(ScopedCallback):
    """The model's forward is compiled while fastai fits it; validate and get_preds alone run eagerly.

    A graph is made for training and one for validation, and again when parameters are frozen or unfrozen:
    torch does not look at ``requires_grad`` once a graph is made, and trains on without the unfrozen ones
    (pytorch issue 139476). The compiled code is kept for the callback's later fits of the same model.

    Parameters
    ----------
    mode
        Of ``torch.compile``: None, "reduce-overhead", "max-autotune", ...
    backend
        Of ``torch.compile``.

    Attributes
    ----------
    graphs, breaks : int
        Graphs compiled, and places where one had to end early, over all fits.
    seconds : float
        Time spent compiling, over all fits.
    """

    order = 8  # before Autocast (10), whose context is to lie around the compiled forward

    def __init__(self, mode: str | None = None, backend: str | Callable = "inductor"):
        self.mode, self.backend = mode, backend
        self.graphs, self.breaks, self.seconds = 0, 0, 0.0
        self._model, self._compiled, self._layer, self._start = None, {}, None, tally()

    def enter(self) -> None:
        if self._model is not self.learn.model:
            self._model, self._compiled = self.learn.model, {}
        self._trains, self._start = False, tally()
        self._layer = CallLayer(self._model, self._call)
        self._layer.put_on()

    def before_train(self):  # not fired by validate and get_preds alone
        self._trains = True

    def leave(self) -> None:
        if self._layer is not None:
            self._layer.take_off()
        self._layer = None
        graphs, breaks, seconds = (now - then for now, then in zip(tally(), self._start))
        self.graphs, self.breaks, self.seconds = self.graphs + graphs, self.breaks + breaks, self.seconds + seconds

    def _call(self, call: Callable, *batch: torch.Tensor) -> Any:
        if not self._trains:
            return call(*batch)
        args = [x.as_subclass(torch.Tensor) for x in batch]  # fastai's tensor types cannot be traced
        if len(args[0]) == 1:  # torch takes a size of one for a constant: a graph for nothing
            return call(*args)
        if _may_end_partial(self.learn.dl):
            for value in args:
                torch._dynamo.maybe_mark_dynamic(value, 0)  # one graph for whole and partial batches
        key = _signature(self._model)
        if key not in self._compiled:
            run = _own_code(call, len(self._compiled))
            self._compiled[key] = torch.compile(run, mode=self.mode, backend=self.backend)
        return self._compiled[key](*args)


class CompileSeconds(RowCallback):
    """Adds to each epoch's row, as ``time/compile``, the seconds spent compiling since the one before.

    Needs `callbacks.timing.EpochTimer` on the same Learner.
    """

    order = 57  # after EpochTimer (55) has made the row; before what shows it (60)

    def __init__(self):
        self._before = tally()

    def before_fit(self):
        self._before = tally()

    def on_row(self, row: dict[str, Any]) -> None:
        now = tally()
        row["time/compile"], self._before = now[-1] - self._before[-1], now


def _own_code(call: Callable, number: int) -> Callable:
    """A function that calls `call`, with code of its own.

    torch.compile keeps its graphs with the code, and after eight of them runs eagerly: shared code would add up
    the graphs of all models and phases. And it skips a bare ``nn.Sequential`` (pytorch issue 150915), not a function.
    """

    def forward(*args):
        return call(*args)

    code = forward.__code__.replace(co_name=f"forward_{number}")
    return FunctionType(code, forward.__globals__, code.co_name, None, forward.__closure__)


def _may_end_partial(loader: Any) -> bool:
    size = getattr(loader, "bs", None)
    return bool(size) and not loader.drop_last and loader.n % size != 0


def _signature(model: nn.Module) -> tuple:
    """What makes a graph wrong when it changes, and is not looked at by torch: freezing, and hooks."""
    trained = tuple(parameter.requires_grad for parameter in model.parameters())
    return trained, sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules())


def tally() -> tuple[int, int, float]:
    """Graphs compiled, breaks between them, and seconds spent compiling, in this process so far."""
    seconds = sum(sum(compilation_time_metrics.get(name, ())) for name in TIMED)
    return counters["stats"]["unique_graphs"], sum(counters["graph_break"].values()), seconds
