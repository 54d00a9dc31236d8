"""The cure of unequal classes: weights in the loss, or an equal draw.

python -m pytest tests/data/test_balance.py
"""

from types import SimpleNamespace

import numpy as np
import pytest

import data
from data.scan import Sample, Scan

SPEC = SimpleNamespace(image_size=8, mean=(0.5,) * 3, std=(0.5,) * 3)


@pytest.fixture
def unequal():
    pixels = np.zeros((8, 8, 3), np.uint8)
    train = [Sample(pixels, "cat")] * 90 + [Sample(pixels, "dog")] * 10
    return Scan("here", "arrays", ["cat", "dog"], train, train[85:95], side=8)


def test_weights_are_inverse_to_the_counts_and_one_on_average(unequal):
    assert data.class_weights(unequal) == {"cat": pytest.approx(100 / 180), "dog": 5.0}


def test_the_sampler_draws_each_class_equally_often_in_training_alone(unequal):
    np.random.seed(0)
    loaders = data.loaders(unequal, SPEC, batch_size=50, workers=0, balanced=True)
    drawn = np.concatenate([labels.numpy() for _ in range(20) for _, labels in loaders.train])
    assert len(drawn) == 20 * 100
    assert drawn.mean() == pytest.approx(0.5, abs=0.04)
    assert [int(label) for _, labels in loaders.valid for label in labels] == [0] * 5 + [1] * 5
