"""A temperature, by which logits are divided to make probabilities honest, within the network and out of it again.

with last_layer(learn.model) as last:       # around at least one forward pass
    learn.validate()
if last.is_linear:
    fold(learn.model, 1.4)
predictor = Uncalibrated(models.load(path))
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from models.errors import ModelError

if TYPE_CHECKING:
    from torch import nn


@dataclass
class LastLayer:
    """Whether the logits are what the network's last linear layer returns, and nothing comes after it."""

    is_linear: bool = False


@contextmanager
def last_layer(model: "nn.Module") -> Iterator[LastLayer]:
    """Watch the forward passes of `model` while inside."""
    from torch import nn

    found, returned = LastLayer(), []
    linear = [module for module in model.modules() if isinstance(module, nn.Linear)]

    def compare(module: nn.Module, inputs: Any, output: Any) -> None:
        found.is_linear = bool(returned) and returned[-1] is output  # the same object: nothing is read from a device
        returned.clear()

    hooks = [model.register_forward_hook(compare)]
    if linear and linear[-1] is not model:
        hooks.append(linear[-1].register_forward_hook(lambda module, inputs, output: returned.append(output)))
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()


def fold(model: "nn.Module", temperature: float) -> None:
    """Divide the weights of the last linear layer, and so all logits, by `temperature`, in place."""
    import torch

    from models.linear_head import LinearHead

    linear = LinearHead.of(model).linear
    with torch.no_grad():
        linear.weight /= temperature
        if linear.bias is not None:
            linear.bias /= temperature


class Uncalibrated:
    """A loaded predictor whose probabilities are those from before its temperature; all else is as it was.

    Raises
    ------
    ModelError
        It does not say by which temperature its logits are divided.
    """

    def __init__(self, predictor: Any):
        temperature = getattr(predictor, "facts", {}).get("temperature")
        if temperature is None:
            raise ModelError("does not say by which temperature it is calibrated; that is in its .json file")
        self._predictor, self._temperature = predictor, temperature

    def __getattr__(self, name: str) -> Any:
        return getattr(self._predictor, name)

    def logits(self, images: Sequence[Any]) -> Any:
        """As of the predictor, times its temperature."""
        return self._predictor.logits(images) * self._temperature

    def probabilities(self, images: Sequence[Any]) -> np.ndarray:
        """Class probabilities, float32 (len(images), len(classes)); rows add up to 1."""
        logits = np.asarray(self.logits(images))
        powers = np.exp(logits - logits.max(1, keepdims=True))
        return powers / powers.sum(1, keepdims=True)
