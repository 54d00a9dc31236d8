"""The two forms of an image: the square is fastai's to the last bit, the presized one keeps its shape.

python -m pytest tests/data/test_forms.py
"""

import numpy as np
import pytest
from fastai.vision.augment import Resize
from fastai.vision.core import PILImage
from PIL import Image

import data
from data import forms
from data.reader import is_reduced


def noise(width: int, height: int) -> Image.Image:
    return Image.fromarray(np.random.default_rng(width).integers(0, 256, (height, width, 3), np.uint8))


# 2217 / 224 * 224 is not 2217 in floating point: fastai loses a pixel there, and so must we
@pytest.mark.parametrize(
    "size", [(500, 333), (333, 500), (224, 224), (225, 224), (70, 50), (2217, 2300), (1, 9), (301, 7)]
)
@pytest.mark.parametrize("side", [224, 31])
def test_the_square_is_what_fastai_makes_in_validation(size, side):
    image = noise(*size)
    expected = Resize(side)(PILImage(image), split_idx=1)
    assert np.array_equal(forms.square(image, side), expected)


def test_presized_keeps_the_shape_and_is_never_enlarged():
    assert forms.presized(noise(600, 400), 224).size == (384, 256)
    assert forms.presized(noise(400, 600), 224).size == (256, 384)
    small = noise(300, 256)
    assert forms.presized(small, 224) is small
    assert forms.presized(noise(4000, 3), 2).size == (2667, 2)


def test_presized_is_close_to_the_exact_reduction():
    image = data.read_image(np.asarray(noise(60, 40).resize((1500, 1000))))
    exact = image.resize((384, 256), Image.Resampling.BILINEAR)
    difference = np.abs(np.asarray(forms.presized(image, 224), int) - np.asarray(exact, int))
    assert difference.max() <= 3


@pytest.mark.parametrize("side", [395, 396, 399, 400, 401, 800, 2000])
@pytest.mark.parametrize("name", ["a.jpg", "a.png", "a.webp"])
def test_it_is_known_what_the_reader_decodes_smaller(side, name, tmp_path):
    path = tmp_path / name
    Image.new("RGB", (side, side + 7)).save(path)
    whole = data.read_image(path)
    assert is_reduced(whole, 100) == (data.read_image(path, for_size=100).size != whole.size)
