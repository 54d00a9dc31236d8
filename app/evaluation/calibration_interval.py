"""Between which bounds a calibration error is to be expected, where so many images are all there is to tell it by.

found = calibration_interval(scores, seed=42)
found.low, found.high, found.method
"""

import numpy as np

from app.evaluation.accuracy_interval import CONFIDENCE, Interval
from app.evaluation.calibration_error import BINS, bin_of
from app.evaluation.scores import Scores

RESAMPLES = 1000
TAIL = (1 - CONFIDENCE) / 2


def calibration_interval(scores: Scores, seed: int) -> Interval:
    """Bootstrap the expected calibration error of `calibration`, in its bins.

    Distances count without their sign, so chance adds to the error: in a small sample it is too large, and in a
    resample of it by as much again. The basic bootstrap takes that off. Where a model that says nothing but the truth
    would often show an error like this one, the interval begins at 0; it always holds the error itself.

    Source: Davison and Hinkley 1997, Bootstrap Methods and their Application, section 5.2; for the truthful model
    Bröcker and Smith 2007, Increasing the Reliability of Reliability Diagrams.
    """
    likeliest = scores.probabilities.amax(1).double().numpy()
    excess = likeliest - (scores.predicted == scores.targets).double().numpy()
    places, count, draw = bin_of(likeliest), len(excess), np.random.default_rng(seed)

    def error(rows: np.ndarray | slice, excess: np.ndarray) -> float:
        return float(np.abs(np.bincount(places[rows], excess[rows], BINS)).sum() / count)

    seen = error(slice(None), excess)
    resampled = [error(draw.integers(0, count, count), excess) for _ in range(RESAMPLES)]
    truthful = [error(slice(None), likeliest - (draw.random(count) < likeliest)) for _ in range(RESAMPLES)]
    below, above = np.quantile(resampled, (TAIL, 1 - TAIL))
    low = 0.0 if seen <= np.quantile(truthful, 1 - TAIL) else max(0.0, min(seen, 2 * seen - float(above)))
    method = f"basic bootstrap, {RESAMPLES:,} resamples of images, seed {seed}"
    return Interval(low, min(1.0, max(seen, 2 * seen - float(below))), method)
