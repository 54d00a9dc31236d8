"""The callback that runs a fastai Learner on XLA.

learn.fit_one_cycle(3, cbs=XLA())
learn.to_xla().fine_tune(3)                 # added for good; learn.remove_cb(XLA) takes it off
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from fastai.callback import core
from fastai.callback.core import Callback
from fastai.learner import Learner
from fastcore.basics import patch

from callbacks.scoped import ScopedCallback
from callbacks.xla import limits, optimizer, placing, runtime
from callbacks.xla.checkpoint import save
from callbacks.xla.deferred import Deferred
from callbacks.xla.evaluation_norm import in_parts
from callbacks.xla.loader import DeviceLoader
from callbacks.xla.sharding import BatchSharding

# What fastai itself catches, to go on.
CANCELS = tuple(value for name, value in vars(core).items() if name.startswith("Cancel"))


class XLA(ScopedCallback):
    """Model, optimizer state and batches are on the XLA device during fit, validate and get_preds.

    Before and after, the Learner is an ordinary one on the CPU, also after an exception or Ctrl-C. One graph is
    run per batch; losses and metrics stay on the device until an epoch ends.

    Parameters
    ----------
    devices
        How many XLA devices share a batch; None for all there are. The batch size of the loaders is that of all.
    every
        Steps between readings of the loss for the progress bar; None reads none.

    Raises
    ------
    XLAError
        When a fit begins without torch_xla, or with what XLA cannot do; see `callbacks.xla.limits`.
    """

    order = -9  # after TrainEvalCallback (-10); before all that looks at the model or wraps its call

    def __init__(self, devices: int | None = None, every: int | None = None):
        self.devices, self.every = devices, every
        self._held, self._seeded = False, False
        self._cut, self._norm = GraphCut(), None
        self._loader, self._deferred, self._loss = None, None, None

    def __reduce__(self) -> tuple:
        return Callback, ()  # an exported Learner holds one of fastai's, that does nothing

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the model on the device from one call to the next while inside, as for many `get_preds`."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
            self.restore()

    def before_fit(self):
        limits.check_callbacks(self.learn)
        if not (self._held and self._entered):
            super().before_fit()

    def after_fit(self):
        if not self._held:
            super().after_fit()

    def enter(self) -> None:
        learn = self.learn
        count = runtime.start(self.devices)
        if not self._seeded:
            runtime.seed(torch.initial_seed() % 2**31)
            self._seeded = True
        if learn.opt is not None:
            optimizer.check(learn.opt)
        self._device = runtime.device()
        self._sharding = BatchSharding(count) if count > 1 else None
        self._loss = learn.loss_func
        self._deferred = Deferred(learn, self.every)
        self._deferred.put_on()
        placing.to_device(learn, self._device, self._loss)
        if learn.opt is not None:
            optimizer.replace(learn.opt, optimizer.REPLACED)
        self._norm = in_parts()
        self._norm.__enter__()
        learn.add_cb(self._cut)
        learn.save = partial(save, learn)
        learn._with_events = partial(self._guarded, learn._with_events)

    def leave(self) -> None:
        learn = self.learn
        for name in ("save", "_with_events"):
            vars(learn).pop(name, None)
        learn.remove_cb(self._cut)
        if self._norm is not None:
            self._norm.__exit__(None, None, None)
            self._norm = None
        if self._loader is not None:
            self._loader.close()
            learn.dl, self._loader = self._loader.loader, None
        # The last step's graph holds the parameters.
        learn.xb, learn.yb, learn.pred, learn.loss, learn.loss_grad = (None,), (None,), None, None, None
        if self._deferred is None:
            return  # XLA could not even be started
        runtime.sync()  # what a broken-off step has left undone, as one graph
        self._deferred.take_off()
        placing.to_cpu(learn, self._loss)
        if learn.opt is not None:
            optimizer.replace(learn.opt, optimizer.RESTORED)
        self._deferred = self._loss = None

    def before_train(self):
        self._wrap_loader()

    def before_validate(self):
        self._wrap_loader()

    def after_train(self):
        self._deferred.fetch()

    def after_validate(self):
        self._deferred.fetch()

    def _wrap_loader(self) -> None:
        if self._loader is not None:
            self._loader.close()
        if not isinstance(self.learn.dl, DeviceLoader):
            self._loader = DeviceLoader(self.learn.dl, self._device, self._sharding)
            self.learn.dl = self._loader

    def _guarded(self, with_events: Callable, *args: Any, **kwargs: Any) -> None:
        """fastai's own loop; but an exception, for which fastai calls no event, restores the Learner first."""
        try:
            with_events(*args, **kwargs)
        except CANCELS:
            raise
        except BaseException:
            self.restore()
            raise


class GraphCut(Callback):
    """Ends the graph of a batch, and has the device run it. `XLA` adds and removes it."""

    # After the Recorder (50), which computes too; before what may read a number, for which a batch would run twice.
    order = 55

    def __reduce__(self) -> tuple:
        return Callback, ()

    def after_batch(self):
        runtime.sync()


@patch
def to_xla(self: Learner, devices: int | None = None, every: int | None = None) -> Learner:
    """Run all that follows on XLA, as ``add_cb(XLA(devices, every))``; ``remove_cb(XLA)`` ends it."""
    self.remove_cb(XLA)
    return self.add_cb(XLA(devices, every))
