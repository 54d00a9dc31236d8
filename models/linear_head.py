"""A head of one linear layer: fastai's pool, batch norm and dropout before it, or a network's own last layer.

learn = vision_learner(loaders, arch, **OPTIONS)
add_bias(learn.model)
LinearHead.of(learn.model).write(mean, variance, weight, bias)
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

# Of fastai's vision_learner.
OPTIONS: dict[str, Any] = {"lin_ftrs": [], "concat_pool": False, "ps": 0.5}


def add_bias(model: nn.Sequential) -> None:
    """Give the last layer a bias: fastai leaves it to the batch norm before, which has no exact place for one."""
    head = model[-1]
    head[-1] = nn.Linear(head[-1].in_features, head[-1].out_features)


@dataclass(frozen=True)
class LinearHead:
    """The last linear layer of a network and, where fastai's head has one, the batch norm before it."""

    linear: nn.Linear
    norm: nn.BatchNorm1d | None

    @classmethod
    def of(cls, model: nn.Module) -> "LinearHead":
        """Find it in a body with fastai's head, or in a network whose classifier was replaced."""
        linear = [module for module in model.modules() if isinstance(module, nn.Linear)][-1]
        head = list(model[-1]) if isinstance(model, nn.Sequential) and isinstance(model[-1], nn.Sequential) else []
        norm = next((module for module in head if isinstance(module, nn.BatchNorm1d)), None)
        return cls(linear, norm)

    @property
    def entry(self) -> nn.Module:
        """The module that is given the features."""
        return self.linear if self.norm is None else self.norm

    @torch.no_grad()
    def write(self, mean: torch.Tensor, variance: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> None:
        """Make the head, in evaluation, compute ``weight @ (features - mean) / sqrt(variance) + bias``.

        Parameters
        ----------
        mean, variance
            Of the features, (F,); the variance is positive.
        weight, bias
            (classes, F) and (classes,).
        """
        if self.norm is None:
            weight = weight / variance.sqrt()
            bias = bias - weight @ mean
        else:
            self.norm.running_mean.copy_(mean)
            self.norm.running_var.copy_((variance - self.norm.eps).clamp(min=0))
            self.norm.weight.fill_(1)
            self.norm.bias.zero_()
        self.linear.weight.copy_(weight)
        self.linear.bias.copy_(bias)
