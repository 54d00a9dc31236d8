"""Which augmentation is chosen, how strong it is, and when nothing is mirrored.

python -m pytest tests/data/test_augmentation.py
"""

import pytest
from fastai.vision.augment import Flip

from data import Scan
from data.augmentation import batch_augmentation, choose_augmentation, crop_of, may_flip
from data.random_crop import Crop
from data.transforms import PadCrop


@pytest.mark.parametrize(
    ("asked", "source", "side", "way"),
    [
        ("auto", "photos", 500, "crop"),
        ("auto", "photos", 65, "crop"),
        ("auto", "photos", 64, "fastai"),
        ("crop", "photos", 28, "crop"),
        ("fastai", "photos", 500, "fastai"),
        ("auto", "cifar10", 32, "pad"),
        ("crop", "cifar10", 32, "pad"),
    ],
)
def test_the_way(asked, source, side, way):
    assert choose_augmentation(asked, Scan(source, "", ["a", "b"], [], [], side)) == way


@pytest.mark.parametrize(
    ("classes", "flips"),
    [
        (["0", "1", "9"], False),
        (["a", "B", "7"], False),
        (["ä", "ß"], False),
        (["1", "2", "17"], True),
        (["ant", "bee"], True),
        (["x", "other"], True),
        (["+", "-"], True),
    ],
)
def test_characters_are_not_mirrored(classes, flips):
    assert may_flip(classes) == flips


def test_batch_transforms_are_fastais_for_photos_and_pad_and_crop_for_cifar10():
    names = [type(transform).__name__ for transform in batch_augmentation("fastai", 1.0, True)]
    assert names == ["Flip", "Brightness"]  # fastai puts the affine transforms into the one, light into the other
    assert [type(transform) for transform in batch_augmentation("pad", 1.0, True)] == [PadCrop, Flip]
    assert [type(transform) for transform in batch_augmentation("pad", 1.0, False)] == [PadCrop]
    assert [batch_augmentation(way, 0, True) for way in ("fastai", "pad")] == [[], []]


def test_without_flips_fastai_mirrors_nothing():
    names = [type(transform).__name__ for transform in batch_augmentation("fastai", 1.0, False)]
    assert "Flip" not in names


def test_crops_grow_smaller_with_the_strength():
    assert crop_of("crop", 1.0, True) == Crop(0.5, True)
    assert crop_of("crop", 0.5, False) == Crop(0.75, False)
    assert crop_of("crop", 4.9, True).min_scale == 0.08
    assert crop_of("crop", 0, True) is None


@pytest.mark.parametrize("mult", [0, 1.0])
def test_for_fastais_way_only_the_place_of_the_square_is_drawn(mult):
    assert crop_of("fastai", mult, True) == Crop(1.0, False, (1.0, 1.0))
