"""What a model says of labelled images: the raw material of every figure, picture and report about it.

scores = validation_scores(learn, scan.valid)
scores.probabilities.argmax(1) == scores.targets
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from data import Sample

if TYPE_CHECKING:  # a model that is only run needs no fastai
    from fastai.learner import Learner


@dataclass(frozen=True)
class Scores:
    """One row per image, in the order of the data set.

    ``logits``: float32 (N, C), on the CPU; ``targets``: int64 (N,), which class is true; ``classes``: their C names;
    ``samples``: the N images, as `data.read_image` takes them.
    """

    logits: Tensor
    targets: Tensor
    classes: list[str]
    samples: list[Sample]

    @cached_property
    def probabilities(self) -> Tensor:
        """Float32 (N, C); rows add up to 1."""
        return self.logits.softmax(1)

    @cached_property
    def predicted(self) -> Tensor:
        """int64 (N,)."""
        return self.logits.argmax(1)

    @cached_property
    def losses(self) -> Tensor:
        """Cross-entropy of each image, in nats, float32 (N,)."""
        return torch.nn.functional.cross_entropy(self.logits, self.targets, reduction="none")

    @property
    def accuracy(self) -> float:
        """Share of images whose likeliest class is the true one."""
        return (self.predicted == self.targets).float().mean().item()

    def name(self, index: int) -> str:
        """The file of an image, or its number where the data set has no files."""
        source = self.samples[index].source
        return str(source) if isinstance(source, Path) else f"image {index}"

    def worst(self, count: int) -> list[int]:
        """Indices of the wrongly predicted images with the largest losses, largest first."""
        wrong = (self.predicted != self.targets).nonzero().flatten()
        return wrong[self.losses[wrong].argsort(descending=True, stable=True)][:count].tolist()


def validation_scores(learn: "Learner", samples: Sequence[Sample], callbacks: Sequence[Any] = ()) -> Scores:
    """Run `learn` once over its validation images, in float32, as the exported model would.

    Parameters
    ----------
    samples
        The images of ``learn.dls.valid``, in its order.
    callbacks
        Added for this pass, such as `callbacks.xla.XLA`.
    """
    with learn.no_bar(), learn.no_logging():
        logits, targets = learn.get_preds(dl=learn.dls.valid, act=_unchanged, cbs=list(callbacks), reorder=False)
    return Scores(logits.float().cpu(), targets.long().cpu(), list(map(str, learn.dls.vocab)), list(samples))


def _unchanged(logits: Tensor) -> Tensor:
    return logits
