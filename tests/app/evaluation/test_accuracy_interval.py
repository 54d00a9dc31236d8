"""The interval of an accuracy: python -m pytest tests/app/evaluation/test_accuracy_interval.py"""

import numpy as np
import pytest
from scipy.stats import binomtest, bootstrap

from app.evaluation.accuracy_interval import accuracy_interval


def test_it_is_the_percentile_bootstrap():
    """Against scipy's, which draws images: the quantiles agree within one image of 150."""
    answers = np.repeat([1.0, 0.0], [130, 20])
    expected = bootstrap((answers,), np.mean, n_resamples=5000, method="percentile", rng=np.random.default_rng(1))
    found = accuracy_interval(130, 150, seed=42)
    assert found[:2] == pytest.approx(tuple(expected.confidence_interval), abs=1 / 150 + 1e-9)
    assert found.method == "percentile bootstrap, 10,000 resamples of images, seed 42"


def test_a_seed_repeats():
    assert accuracy_interval(701, 1000, 3) == accuracy_interval(701, 1000, 3)
    assert accuracy_interval(701, 1000, 3)[:2] != accuracy_interval(701, 1000, 4)[:2]


@pytest.mark.parametrize(("right", "images", "said"), [(12, 12, "all"), (0, 12, "no"), (1, 1, "all")])
def test_where_every_sample_is_the_same_the_interval_is_exact(right, images, said):
    found = accuracy_interval(right, images, seed=42)
    assert found[:2] == pytest.approx(tuple(binomtest(right, images).proportion_ci(0.95, "exact")))
    assert found.method == f"exact (Clopper-Pearson): {said} answers are right"
