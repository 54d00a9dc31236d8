"""A network with all that prediction needs: torch, and for most networks timm or torchvision, but not fastai.

predictor = of_facts(facts, weights)        # as models.sidecar reads them
predictor.probabilities([image, ...])       # (N, classes)
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import Tensor, nn

from models.answers import answer
from models.preparation import Preparation
from models.rebuild import rebuild

BATCH = 16  # images; more at a time are not faster on a CPU
MANY = 200  # images from which on it pays to look for the quickest way
PART_OF_MEMORY = 0.25
BYTES_PER_PIXEL = 1000  # of an image while it is in a network: about 60 channels of float32, four times at once
LARGE_SIDE = 1024  # px, of images that are not resized


class Predictor:
    """Class names, and probabilities for images.

    ``image_size`` is the side in pixels to which it resizes an image, or None when it takes images as they are;
    ``facts`` is what is known of the model, in the form of its description (`models.sidecar`); ``source`` is its file.
    """

    source: Path | None = None

    def __init__(self, network: nn.Module, preparation: Preparation, facts: Mapping[str, Any]):
        self.network, self.preparation, self.facts = network.eval(), preparation, dict(facts)
        self.classes = [str(name) for name in facts["classes"]]
        self.image_size = min(preparation.size) if preparation.size else None
        self._forward, self._many, self._given = self.network, False, False
        self._mean, self._std = (torch.tensor(v).view(1, -1, 1, 1) for v in (preparation.mean, preparation.std))

    def prepare(self, image: Image.Image) -> Image.Image:
        """The image at the size of the network, as validation resized it: all that has to be kept of a large one."""
        return self.preparation.image(image)

    def expect(self, count: int) -> int:
        """Say how many images will come; returns how many to give at a time.

        Where there are many, the quickest way to run the network is looked for on the first batch. It may be
        bfloat16, whose probabilities differ by a hundredth on average (`models.fast_forward`).
        """
        self._many = count >= MANY and not self._given
        return batch_that_fits(self.preparation.size)

    def run_by(self, forward: Callable[[Tensor], Tensor]) -> None:
        """Have `forward` compute the logits of batches, from the CPU to the CPU, in the place of the network."""
        self._forward, self._given = forward, True

    def normalised(self, images: Sequence[Image.Image]) -> Tensor:
        """What the network gets, float32 (N, 3, height, width): the values of fastai's validation."""
        pixels = torch.from_numpy(self.preparation.pixels(images))
        return pixels.float().div_(255).sub_(self._mean).div_(self._std)

    def probabilities(self, images: Sequence[Image.Image]) -> Tensor:
        """Class probabilities, float32 (len(images), len(classes)); rows add up to 1."""
        return self.logits(images).softmax(1)

    def logits(self, images: Sequence[Image.Image]) -> Tensor:
        """What the network says, before it is made into probabilities, float32 (len(images), len(classes)).

        Raises
        ------
        ModelError
            It cannot be run, or says what is no number (`models.answers`).
        """
        return answer(self.source, self._logits, images, len(self.classes))

    def _logits(self, images: Sequence[Image.Image]) -> Tensor:
        with torch.inference_mode():
            batch = self.normalised(images)
            if self._many:
                from models.fast_forward import fastest

                self._forward, self._many = fastest(self.network, batch), False
            return self._forward(batch)


def batch_that_fits(size: tuple[int, int] | None) -> int:
    """Images per forward pass: `BATCH`, or fewer where they would take more than a part of the free memory."""
    width, height = size or (LARGE_SIDE, LARGE_SIDE)
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not on Windows
        return BATCH
    return max(1, min(BATCH, int(PART_OF_MEMORY * free / (width * height * BYTES_PER_PIXEL))))


def of_facts(facts: Mapping[str, Any], weights: Mapping[str, Tensor], trust: bool = False) -> Predictor:
    """A predictor from what `models.sidecar` reads.

    Raises
    ------
    ModelError
        The network cannot be made here, or is the user's own and not trusted.
    """
    network = rebuild(facts, len(facts["classes"]), weights, trust)
    return Predictor(network, Preparation.of(facts), facts)
