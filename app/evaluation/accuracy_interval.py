"""Between which bounds the accuracy on other images of the same kind is to be expected.

found = accuracy_interval(right=143, images=153, seed=42)
found.low, found.high, found.method
"""

from typing import NamedTuple

import numpy as np

CONFIDENCE = 0.95
RESAMPLES = 10_000


class Interval(NamedTuple):
    """A confidence interval of `CONFIDENCE`, and in words how it was found."""

    low: float
    high: float
    method: str


def accuracy_interval(right: int, images: int, seed: int) -> Interval:
    """Bootstrap the accuracy of `right` of `images`: the percentiles of what samples of the same size give.

    An accuracy depends on a sample through its number of right answers alone, and that of a sample drawn with
    replacement is binomial: it is drawn as such, which is the bootstrap itself and no approximation of it.
    Where all answers are right, or none, every sample is the same and its interval would have no width: then the exact
    one of Clopper and Pearson (1934) is given.

    Source: Efron and Tibshirani 1993, An Introduction to the Bootstrap, chapter 13.
    """
    tail = (1 - CONFIDENCE) / 2
    if right in (0, images):
        reach = tail ** (1 / images)  # the accuracy with which so many right answers in a row have this chance
        bounds = (reach, 1.0) if right else (0.0, 1 - reach)
        return Interval(*bounds, f"exact (Clopper-Pearson): {'all' if right else 'no'} answers are right")
    drawn = np.random.default_rng(seed).binomial(images, right / images, RESAMPLES) / images
    low, high = np.quantile(drawn, (tail, 1 - tail))
    return Interval(float(low), float(high), f"percentile bootstrap, {RESAMPLES:,} resamples of images, seed {seed}")
