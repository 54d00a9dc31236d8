"""How far probabilities are from what happens: expected calibration error, and the bins of a reliability plot.

found = calibration(scores)
found.error                                 # 0.031: said and true differ by 3 points on average
found.confidence, found.accuracy            # of each bin that holds images, to be drawn against each other
"""

from dataclasses import dataclass

import numpy as np

from app.evaluation.scores import Scores

BINS = 15  # of equal width, as in Guo et al. 2017


@dataclass(frozen=True)
class Calibration:
    """Images in bins by the probability of their likeliest class; arrays of one value per bin that holds any.

    ``low``, ``high``: the bin's bounds; ``count``: its images; ``confidence``: the mean probability that was said;
    ``accuracy``: the share that was right. ``error`` is their mean distance, weighted by the images.
    """

    low: np.ndarray
    high: np.ndarray
    count: np.ndarray
    confidence: np.ndarray
    accuracy: np.ndarray

    @property
    def error(self) -> float:
        """Expected calibration error, in [0, 1]."""
        return float(np.average(np.abs(self.confidence - self.accuracy), weights=self.count))


def calibration(scores: Scores, bins: int = BINS) -> Calibration:
    """Sort the images into `bins` of equal width, the upper bound included, and compare within each.

    The estimate is biased upwards where bins hold few images: a perfect model's is above zero too.

    Source: Guo et al. 2017, On Calibration of Modern Neural Networks, arXiv 1706.04599, equation 3.
    """
    likeliest = scores.probabilities.amax(1).double().numpy()
    right = (scores.predicted == scores.targets).double().numpy()
    edges, places = np.linspace(0, 1, bins + 1), bin_of(likeliest, bins)
    counts = np.bincount(places, minlength=bins)
    filled = counts > 0
    count = counts[filled]
    return Calibration(
        low=edges[:-1][filled],
        high=edges[1:][filled],
        count=count,
        confidence=np.bincount(places, likeliest, bins)[filled] / count,
        accuracy=np.bincount(places, right, bins)[filled] / count,
    )


def bin_of(probabilities: np.ndarray, bins: int = BINS) -> np.ndarray:
    """The number of the bin of each probability, from 0; int64 (N,)."""
    # float32 rows may sum to a little more than 1, and a probability with them.
    return np.clip(np.digitize(probabilities, np.linspace(0, 1, bins + 1), right=True) - 1, 0, bins - 1)
