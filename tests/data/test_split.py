"""Seeded draws that keep the classes in proportion.

python -m pytest tests/data/test_split.py
"""

from collections import Counter

import pytest

from data.errors import DataError
from data.scan import Sample
from data.split import limit_samples, stratified_split


def samples(**counts: int) -> list[Sample]:
    return [Sample(f"{label}{i}", label) for label, count in counts.items() for i in range(count)]


def per_class(drawn: list[Sample]) -> dict[str, int]:
    return dict(Counter(sample.label for sample in drawn))


def test_each_class_gives_its_share_and_every_image_is_in_one_split():
    everything = samples(cat=50, dog=10)
    train, valid = stratified_split(everything, 0.2, seed=0)
    assert per_class(valid) == {"cat": 10, "dog": 2}
    assert sorted(train + valid) == sorted(everything)


def test_the_same_seed_draws_the_same():
    everything = samples(cat=50, dog=10)
    assert stratified_split(everything, 0.2, seed=1) == stratified_split(everything, 0.2, seed=1)
    assert stratified_split(everything, 0.2, seed=1) != stratified_split(everything, 0.2, seed=2)


@pytest.mark.parametrize(("share", "expected"), [(0.01, 1), (0.99, 2)])
def test_both_splits_get_one_of_each_class(share, expected):
    _, valid = stratified_split(samples(cat=3, dog=3), share, seed=0)
    assert per_class(valid) == {"cat": expected, "dog": expected}


def test_a_single_image_stays_in_train():
    train, valid = stratified_split(samples(cat=1, dog=4), 0.5, seed=0)
    assert (per_class(train), per_class(valid)) == ({"cat": 1, "dog": 2}, {"dog": 2})


def test_single_images_alone_cannot_be_split():
    with pytest.raises(DataError) as caught:
        stratified_split(samples(cat=1, dog=1), 0.2, seed=0)
    assert (
        str(caught.value)
        == "every class has a single image, copies not counted: nothing is left to validate on, add images"
    )


@pytest.mark.parametrize(
    ("counts", "limit", "expected"),
    [
        ({"cat": 60, "dog": 30, "eel": 10}, 10, {"cat": 6, "dog": 3, "eel": 1}),
        ({"cat": 1000, "dog": 1, "eel": 1}, 10, {"cat": 8, "dog": 1, "eel": 1}),
        ({"cat": 10, "dog": 10, "eel": 10}, 4, {"cat": 2, "dog": 1, "eel": 1}),
        ({"cat": 10, "dog": 10, "eel": 10}, 3, {"cat": 1, "dog": 1, "eel": 1}),
    ],
)
def test_limit_keeps_the_proportion_and_one_of_each(counts, limit, expected):
    drawn = limit_samples(samples(**counts), limit, seed=0)
    assert per_class(drawn) == expected
    assert len(set(drawn)) == limit


def test_limit_draws_by_seed():
    everything = samples(cat=60, dog=30)
    assert limit_samples(everything, 9, seed=1) == limit_samples(everything, 9, seed=1)
    assert limit_samples(everything, 9, seed=1) != limit_samples(everything, 9, seed=2)


def test_a_limit_above_what_there_is_changes_nothing():
    everything = samples(cat=3, dog=2)
    assert limit_samples(everything, 5, seed=0) == everything


def test_a_limit_below_the_number_of_classes_is_an_error():
    with pytest.raises(DataError) as caught:
        limit_samples(samples(cat=3, dog=3, eel=3), 2, seed=0)
    assert str(caught.value) == "--limit 2 is below the number of classes (3): raise it"
