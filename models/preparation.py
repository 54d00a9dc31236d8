"""From an image as it was read to the pixels a network gets, with Pillow and NumPy alone.

preparation = Preparation.of(facts)         # facts as models.sidecar reads them
small = preparation.image(image)            # resized as validation did
pixels = preparation.pixels([small, ...])   # uint8 (N, 3, height, width)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from models.resizing import resized


@dataclass(frozen=True)
class Preparation:
    """How images are resized, and normalised.

    ``size`` is (width, height) in pixels, None for networks that take images as they are; ``mean`` and ``std`` are
    per channel for values in [0, 1].
    """

    size: tuple[int, int] | None
    resize: str = "crop"
    padding: str = "reflection"
    mean: tuple[float, ...] = (0.0, 0.0, 0.0)
    std: tuple[float, ...] = (1.0, 1.0, 1.0)

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> "Preparation":
        """As a model's description says."""
        size = facts["image_size"]
        width, height = size if isinstance(size, list) else (size, size)
        padding = facts.get("padding", "reflection")
        return cls((width, height), facts["resize"], padding, tuple(facts["mean"]), tuple(facts["std"]))

    def facts(self) -> dict[str, Any]:
        """As a model's description says it."""
        width, height = self.size
        described: dict[str, Any] = {"image_size": width if width == height else [width, height], "resize": self.resize}
        if self.resize == "pad":
            described["padding"] = self.padding
        return described | {"mean": list(self.mean), "std": list(self.std)}

    def image(self, image: Image.Image) -> Image.Image:
        """The image in RGB and at the network's size; one that has both is returned as it is."""
        image = image if image.mode == "RGB" else image.convert("RGB")
        return resized(image, self.size, self.resize, self.padding) if self.size else image

    def pixels(self, images: Sequence[Image.Image]) -> np.ndarray:
        """One batch, uint8 of shape (N, 3, height, width); the images are of one size, or resized to it."""
        batch = np.stack([np.asarray(self.image(image)) for image in images])
        return np.ascontiguousarray(batch.transpose(0, 3, 1, 2))
