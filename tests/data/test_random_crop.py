"""Random crops: how large, how formed, where; and that cutting and resizing are right.

python -m pytest tests/data/test_random_crop.py
"""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from PIL import Image

from data.random_crop import DRAWS, Crop, crop_into, draw

NUMBERS = np.random.default_rng(0).random((500, DRAWS))


def noise(width: int, height: int) -> np.ndarray:
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)
    pixels.setflags(write=False)  # as the cache's
    return pixels


@pytest.mark.parametrize(("width", "height"), [(341, 256), (256, 256), (100, 900), (1, 1), (3, 400)])
def test_boxes_lie_within_the_image_and_have_the_ratio(width, height):
    for numbers in NUMBERS:
        (left, top, across, down), _ = draw(numbers, width, height, Crop(0.5))
        assert left >= 0
        assert top >= 0
        assert 1 <= across <= width - left
        assert 1 <= down <= height - top
        assert abs(across - down * 3 / 4) <= 1 or across >= 3 / 4 * down
        assert abs(across - down * 4 / 3) <= 1 or across <= 4 / 3 * down


def test_areas_reach_from_the_least_to_the_whole_and_places_from_edge_to_edge():
    boxes = np.array([draw(numbers, 300, 300, Crop(0.5))[0] for numbers in NUMBERS])
    areas = boxes[:, 2] * boxes[:, 3] / 300**2
    assert 0.45 < areas.min() < 0.55
    assert 0.9 < areas.max() <= 1
    assert boxes[:, 0].min() == boxes[:, 1].min() == 0
    assert (boxes[:, 0] + boxes[:, 2]).max() == (boxes[:, 1] + boxes[:, 3]).max() == 300


def test_half_are_mirrored_or_none():
    mirrored = [draw(numbers, 30, 30, Crop(0.5))[1] for numbers in NUMBERS]
    assert 200 < sum(mirrored) < 300
    assert not any(draw(numbers, 30, 30, Crop(0.5, flips=False))[1] for numbers in NUMBERS)


def test_the_whole_square_anywhere_is_what_fastais_resize_cuts():
    boxes = {draw(numbers, 40, 30, Crop(1.0, flips=False, ratios=(1.0, 1.0)))[0] for numbers in NUMBERS}
    assert boxes == {(left, 0, 30, 30) for left in range(11)}


@pytest.mark.parametrize(
    "box", [(0, 0, 341, 256), (10, 20, 200, 170), (5, 5, 32, 32), (0, 0, 10, 10), (340, 255, 1, 1)]
)
@pytest.mark.parametrize("flip", [False, True])
def test_a_crop_is_cut_resized_and_mirrored(box, flip):
    pixels, (left, top, width, height) = noise(341, 256), box
    place = torch.empty(32, 32, 3, dtype=torch.uint8)
    crop_into(place, pixels, box, flip)
    found = place.numpy()[:, ::-1] if flip else place.numpy()
    cut = Image.fromarray(pixels[top : top + height, left : left + width])
    expected = np.asarray(cut.resize((32, 32), Image.Resampling.BILINEAR))
    assert np.abs(found.astype(int) - expected).max() <= 1
    tensor = torch.from_numpy(np.array(cut)).permute(2, 0, 1)[None]
    public = F.interpolate(tensor, (32, 32), mode="bilinear", antialias=True)[0].permute(1, 2, 0)
    assert np.array_equal(found, public.numpy())


def test_the_place_may_be_a_row_of_a_batch():
    batch = torch.zeros(3, 16, 16, 3, dtype=torch.uint8)
    crop_into(batch[1], np.full((20, 20, 3), 7, np.uint8), (0, 0, 20, 20), True)
    assert batch.sum((1, 2, 3)).tolist() == [0, 7 * 16 * 16 * 3, 0]
