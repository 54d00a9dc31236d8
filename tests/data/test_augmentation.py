"""Which augmentation is chosen, how strong it is, and when nothing is mirrored.

python -m pytest tests/data/test_augmentation.py
"""

import pytest

from data import DataError, Scan
from data.augmentation import batch_augmentation, choose_augmentation, crop_of, may_flip, shifts_of
from data.random_crop import Crop
from data.shifts import Shifts


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
        ("airbench94", "cifar10", 32, "airbench94"),
        ("pad", "photos", 28, "pad"),
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


def test_shifts_are_for_small_images():
    expected = r"--aug airbench94 \(of --recipe speed\) is for images up to 64 px, not 500: use --aug crop"
    with pytest.raises(DataError, match=expected):
        choose_augmentation("airbench94", Scan("photos", "", ["a", "b"], [], [], 500))


def test_batch_transforms_are_fastais():
    names = [type(transform).__name__ for transform in batch_augmentation(1.0, True)]
    assert names == ["Flip", "Brightness"]  # fastai puts the affine transforms into the one, light into the other
    assert batch_augmentation(0, True) == []


def test_shifts_grow_with_the_strength_and_mirror_where_that_is_allowed():
    assert shifts_of("pad", 1.0, True) == Shifts(padding=4, flips="random")
    assert shifts_of("pad", 0.5, False) == Shifts(padding=2, flips="none")
    assert shifts_of("airbench94", 2.0, True) == Shifts(padding=4, flips="alternating", reflect=True)
    assert shifts_of("airbench94", 0, True) is None


def test_without_flips_fastai_mirrors_nothing():
    names = [type(transform).__name__ for transform in batch_augmentation(1.0, False)]
    assert "Flip" not in names


def test_crops_grow_smaller_with_the_strength():
    assert crop_of("crop", 1.0, True) == Crop(0.5, True)
    assert crop_of("crop", 0.5, False) == Crop(0.75, False)
    assert crop_of("crop", 4.9, True).min_scale == 0.08
    assert crop_of("crop", 0, True) is None


@pytest.mark.parametrize("mult", [0, 1.0])
def test_for_fastais_way_only_the_place_of_the_square_is_drawn(mult):
    assert crop_of("fastai", mult, True) == Crop(1.0, False, (1.0, 1.0))
