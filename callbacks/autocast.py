"""Mixed precision on CPU, CUDA and XLA; fastai's own is for CUDA alone.

learn.fit_one_cycle(3, cbs=Autocast("bf16"))
"""

from typing import Any

import torch
from fastai.callback.core import CancelStepException
from fastai.torch_core import to_float
from torch.amp import GradScaler

from callbacks.scoped import CallLayer, ScopedCallback

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
# fp16 has five bits of exponent: gradients need a scaler, which torch has for CUDA.
DEVICES = {"bf16": ("cuda", "cpu", "xla"), "fp16": ("cuda",)}


class PrecisionError(ValueError):
    """The precision asked for is not to be had on the device; the message names another."""


def check_supported(precision: str, device: torch.device) -> None:
    """Raise a PrecisionError where `precision` ("bf16" or "fp16") cannot be trained with on `device`."""
    if device.type not in DEVICES[precision]:
        other = "use bf16 or full precision" if device.type in DEVICES["bf16"] else "use full precision"
        raise PrecisionError(f"{precision} is not supported on {device.type}: {other}")


class Autocast(ScopedCallback):
    """The forward runs under ``torch.autocast``; loss, metrics, gradients and weights stay float32.

    The context lies around the call of the model itself, so that an exception cannot leave it on. In fp16 the
    loss is scaled, and a step whose gradients overflow is skipped, as in fastai's MixedPrecision.

    Parameters
    ----------
    dtype
        ``bf16`` (CPU, CUDA from capability 8.0, XLA) or ``fp16`` (CUDA).

    Attributes
    ----------
    skipped : int
        Steps skipped for gradients that overflowed, over all fits.

    Raises
    ------
    PrecisionError
        When a fit begins on a device that cannot do it.
    """

    # fastai's for precision: GradientAccumulation (6) counts before, GradientClip (11) sees unscaled gradients.
    order = 10

    def __init__(self, dtype: str = "bf16"):
        if dtype not in DTYPES:
            raise ValueError(f"dtype {dtype!r} is neither bf16 nor fp16")
        self.dtype, self.skipped, self._layer, self._scaler = dtype, 0, None, None
        self._resumed: dict[str, Any] | None = None

    def enter(self) -> None:
        model = self.learn.model
        device = next(model.parameters()).device
        check_supported(self.dtype, device)

        def cast(call, *args, **kwargs):
            with torch.autocast(device.type, dtype=DTYPES[self.dtype]):
                return call(*args, **kwargs)

        if self.dtype == "fp16":
            self._scaler = GradScaler(device.type)
            if self._resumed is not None:
                self._scaler.load_state_dict(self._resumed)
        self._resumed = None
        self._layer = CallLayer(model, cast)
        self._layer.put_on()

    def leave(self) -> None:
        if self._layer is not None:
            self._layer.take_off()
        self._layer = self._scaler = None

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps: the scale of the loss, as far as it was found."""
        return {"skipped": self.skipped, "scaler": None if self._scaler is None else self._scaler.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Scale on from there, when the next fit begins."""
        self.skipped, self._resumed = state["skipped"], state["scaler"]

    def after_pred(self):
        self.learn.pred = to_float(self.learn.pred)

    def before_backward(self):
        if self._scaler is not None:
            self.learn.loss_grad = self._scaler.scale(self.learn.loss_grad)

    def before_step(self):
        if self._scaler is not None:
            step = _Step(self.learn.opt.param_groups)
            self._scaler.step(step)  # unscales the gradients in place
            if not step.taken:
                self.skipped += 1
                raise CancelStepException

    def after_step(self):
        if self._scaler is not None:
            self._scaler.update()


class _Step:
    """What the scaler takes for an optimizer: tells whether it would step. fastai's own optimizer does it later."""

    def __init__(self, param_groups: list):
        self.param_groups, self.taken = param_groups, False

    def step(self) -> None:
        self.taken = True
