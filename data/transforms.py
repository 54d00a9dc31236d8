"""The transforms that fastai has not: how a sample becomes an image and a label.

    Datasets(samples, tfms=[[OpenImage()], [label_of, Categorize(vocab=classes)]])

None of these travels in an exported model, which holds fastai's own (see ``models/bundle.py``).
"""

from pathlib import Path

import numpy as np
from fastai.vision.core import PILImage
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
