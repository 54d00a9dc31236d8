"""Our resize and fastai's, pixel by pixel.

python -m pytest tests/models/test_resizing.py
"""

import numpy as np
import pytest
from PIL import Image

from models.resizing import METHODS, PADDING, resized

SHAPES = [(90, 60), (60, 90), (32, 32), (31, 200), (7, 5), (300, 299)]  # width, height


def noise(width, height):
    return Image.fromarray(np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [(32, 32), (48, 20)])
def test_every_pixel_is_fastais(shape, method, size):
    from fastai.vision.augment import Resize
    from fastai.vision.core import PILImage

    image = noise(*shape)
    for padding in PADDING if method == "pad" else ("reflection",):
        theirs = Resize(size[::-1], method=method, pad_mode=padding)(PILImage(image), split_idx=1)
        ours = resized(image, size, method, padding)
        assert ours.size == size
        assert np.array_equal(np.asarray(ours), np.asarray(theirs))


def test_an_image_of_the_size_stays_as_it_is():
    image = noise(32, 32)
    assert resized(image, (32, 32)) is image
