"""A network with all that prediction needs: torch, and for most networks timm or torchvision, but not fastai.

predictor = of_facts(facts, weights)        # as models.sidecar reads them
predictor.probabilities([image, ...])       # (N, classes)
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from PIL import Image
from torch import Tensor, nn

from models.preparation import Preparation
from models.rebuild import rebuild


class Predictor:
    """Class names, and probabilities for images.

    ``image_size`` is the side in pixels to which it resizes an image, or None when it takes images as they are;
    ``facts`` is what is known of the model, in the form of its description (`models.sidecar`).
    """

    def __init__(self, network: nn.Module, preparation: Preparation, facts: Mapping[str, Any]):
        self.network, self.preparation, self.facts = network.eval(), preparation, dict(facts)
        self.classes = [str(name) for name in facts["classes"]]
        self.image_size = min(preparation.size) if preparation.size else None
        self._mean, self._std = (torch.tensor(v).view(1, -1, 1, 1) for v in (preparation.mean, preparation.std))

    def prepare(self, image: Image.Image) -> Image.Image:
        """The image at the size of the network, as validation resized it: all that has to be kept of a large one."""
        return self.preparation.image(image)

    def batch_size(self, count: int) -> int:
        """Images per forward pass when there are `count` of them."""
        return 32

    def normalised(self, images: Sequence[Image.Image]) -> Tensor:
        """What the network gets, float32 (N, 3, height, width): the values of fastai's validation."""
        pixels = torch.from_numpy(self.preparation.pixels(images))
        return pixels.float().div_(255).sub_(self._mean).div_(self._std)

    def probabilities(self, images: Sequence[Image.Image]) -> Tensor:
        """Class probabilities, float32 (len(images), len(classes)); rows add up to 1."""
        with torch.inference_mode():
            return self.network(self.normalised(images)).softmax(1)


def of_facts(facts: Mapping[str, Any], weights: Mapping[str, Tensor], trust: bool = False) -> Predictor:
    """A predictor from what `models.sidecar` reads.

    Raises
    ------
    ModelError
        The network cannot be made here, or is the user's own and not trusted.
    """
    network = rebuild(facts, len(facts["classes"]), weights, trust)
    return Predictor(network, Preparation.of(facts), facts)
