"""What holds only while fastai runs the model: entered by fit, validate and get_preds, and left whatever happens.

class Halved(ScopedCallback):
    def enter(self): ...        # the model is on its device
    def leave(self): ...
"""

from collections.abc import Callable
from typing import Any

from fastai.callback.core import Callback
from fastai.learner import Learner
from torch import nn


class ScopedCallback(Callback):
    """Base of callbacks that change the model for a time.

    fastai calls no event when a fit ends by an exception or by Ctrl-C. It does take the callbacks of
    ``fit(cbs=...)`` off the Learner, by setting their ``learn`` to None: that is where `leave` is called then.
    A callback added for good, with ``add_cb``, is left by `restore`, or by the next fit.
    """

    _learner, _entered = None, False

    @property
    def learn(self) -> Learner | None:
        """The Learner; fastai sets it when the callback is added, and to None when it is removed."""
        return self._learner

    @learn.setter
    def learn(self, learner: Learner | None) -> None:
        if learner is None:
            self.restore()
        self._learner = learner

    def before_fit(self):  # fastai fires it, and after_fit, for validate and get_preds as well
        self.restore()  # what an exception left behind
        self._entered = True  # first, so that an enter that fails half-way is undone as well
        self.enter()

    def after_fit(self):
        self.restore()

    def restore(self) -> None:
        """Leave, if entered; safe to call at any time."""
        if self._entered:
            self._entered = False
            self.leave()

    def enter(self) -> None:
        """Change what is to be changed."""
        raise NotImplementedError

    def leave(self) -> None:
        """Undo `enter`, also one that failed half-way."""
        raise NotImplementedError


class CallLayer:
    """A function around the calls of a module, put on and taken off in any order with others.

    It lies in the slot that ``nn.Module.compile`` uses, which torch leaves out of pickles and deep copies; so
    neither an export nor a copy of the module knows of it.

    Parameters
    ----------
    module
        Its ``__call__`` is replaced, while the layer is on.
    around
        Called with what was called before, and the call's arguments.
    """

    def __init__(self, module: nn.Module, around: Callable[..., Any]):
        self._module, self._around, self._inner = module, around, None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._around(self._inner or self._module._call_impl, *args, **kwargs)

    def put_on(self) -> None:
        """Lie around what is there already."""
        self._inner = self._module._compiled_call_impl
        self._module._compiled_call_impl = self

    def take_off(self) -> None:
        """Leave the others where they are; nothing happens where this one is not on."""
        if self._module._compiled_call_impl is self:
            self._module._compiled_call_impl = self._inner
        layer = self._module._compiled_call_impl
        while isinstance(layer, CallLayer):
            if layer._inner is self:
                layer._inner = self._inner
            layer = layer._inner
