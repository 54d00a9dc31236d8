"""The transforms that fastai has not: how a sample becomes an image and a label, and pad-and-crop.

    Datasets(samples, tfms=[[OpenImage()], [label_of, Categorize(vocab=classes)]])

None of these travels in an exported model, which holds fastai's own (see ``models/bundle.py``).
"""

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from fastai.vision.augment import RandTransform
from fastai.vision.core import PILImage, TensorImage
from fasttransform import Transform

from data.reader import read_image
from data.scan import Sample


class OpenImage(Transform):
    """A `Sample`, or anything `read_image` takes, to fastai's ``PILImage``; the options are those of `read_image`."""

    # What ``test_dl`` may be given; fastai would go by the first item, and allow a `Sample` only.
    input_types = (Sample, str, Path, bytes, np.ndarray)

    def __init__(self, for_size: int | None = None, truncated: bool = False):
        super().__init__()
        self.for_size, self.truncated = for_size, truncated

    def encodes(self, sample: object) -> PILImage:
        source = sample.source if isinstance(sample, Sample) else sample
        return PILImage(read_image(source, for_size=self.for_size, truncated=self.truncated))


def label_of(sample: Sample) -> str:
    """The name of a sample's class."""
    return sample.label


class PadCrop(RandTransform):
    """Pad each image of a batch with black and crop it back at a random place.

    The augmentation of He et al. 2016, section 4.2 (4 pixels at 32). On float batches of shape
    (N, C, H, W), in training only; each image has its own offset.
    """

    order, split_idx = 11, 0  # after IntToFloatTensor (10), before Normalize (99)

    def __init__(self, padding: int = 4):
        super().__init__(p=1.0)
        self.padding = padding

    def encodes(self, x: TensorImage) -> TensorImage:
        count, _, height, width = x.shape
        padded = F.pad(x.as_subclass(torch.Tensor), (self.padding,) * 4)
        rows, columns = (
            torch.randint(2 * self.padding + 1, (count, 1), device=x.device) + torch.arange(size, device=x.device)
            for size in (height, width)
        )
        index = torch.arange(count, device=x.device)[:, None, None]
        # Advanced indices around the channel slice put it last: (N, H, W, C).
        cropped = padded[index, :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
        return TensorImage(cropped.contiguous())
