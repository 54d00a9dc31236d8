"""One number that makes probabilities honest: the temperature by which logits are divided (temperature scaling).

found = calibrate(scores, seed=42)
found.temperature                           # 1.0 where it would not help
found.sentence                              # what it does, measured on images that it was not fitted on

Source: Guo et al. 2017, On Calibration of Modern Neural Networks, arXiv 1706.04599.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_softmax
from torch import Tensor, from_numpy

from app.evaluation.calibration_error import calibration
from app.evaluation.calibration_interval import calibration_interval
from app.evaluation.scores import Scores
from data.counting import counted

LOWEST, HIGHEST = 0.1, 10.0
FOLDS = 5
ENOUGH = 20  # images; with fewer, a fold says nothing
MOST = 10_000  # images
FEW = 200  # images, below which the figures are said to be uncertain


@dataclass(frozen=True)
class Temperature:
    """What was found. ``log_loss`` and ``error`` (expected calibration error) are before and after, each image
    being judged with a temperature that was fitted on others; ``interval`` is 95% of the latter, by bootstrap."""

    temperature: float
    images: int
    log_loss: tuple[float, float] | None = None
    error: tuple[float, float] | None = None
    interval: tuple[float, float] | None = None
    reason: str = ""
    """Why the temperature is 1, where it is."""

    @property
    def sentence(self) -> str:
        """For the user, in one line."""
        if self.log_loss is None:
            return f"none ({self.reason})"
        (loss, loss_after), (error, error_after), (low, high) = self.log_loss, self.error, self.interval
        effect = (
            f"log loss {loss:.4f} -> {loss_after:.4f}, calibration error {error:.4f} -> {error_after:.4f} "
            f"(95% between {low:.4f} and {high:.4f})"
        )
        few = f"; uncertain, with {counted(self.images, 'image')}" if self.images < FEW else ""
        bound = ", a bound of what is tried" if self.temperature in (LOWEST, HIGHEST) else ""
        what = f"none ({self.reason}: " if self.reason else f"temperature {self.temperature:.3f}{bound} ("
        return f"{what}{effect}, cross-fitted{few})"

    def facts(self) -> dict[str, Any]:
        """The values, for JSON."""
        return asdict(self)


def calibrate(scores: Scores, seed: int) -> Temperature:
    """Fit the temperature on `scores`, unless the log loss of images left out of a fit does not fall by it.

    Of very many images a part is drawn: one number is not known better by more.
    """
    scores = _part(scores, seed)
    count = len(scores.targets)
    if count < ENOUGH:
        return Temperature(1.0, count, reason=f"{count} validation images are too few")
    if (scores.predicted == scores.targets).all():
        return Temperature(1.0, count, reason="no validation image is wrong")
    after = cross_fitted(scores, seed)
    losses = scores.losses.double().mean().item(), after.losses.double().mean().item()
    errors = calibration(scores).error, calibration(after).error
    low, high, _ = calibration_interval(after, seed)
    found = Temperature(1.0, count, losses, errors, (low, high), "it would not help")
    if losses[1] > losses[0]:
        return found
    return replace(found, temperature=fit_temperature(scores.logits, scores.targets), reason="")


def _part(scores: Scores, seed: int) -> Scores:
    count = len(scores.targets)
    if count <= MOST:
        return scores
    rows = np.sort(np.random.default_rng(seed).choice(count, MOST, replace=False))
    samples = [scores.samples[row] for row in rows]
    return replace(scores, logits=scores.logits[rows], targets=scores.targets[rows], samples=samples)


def fit_temperature(logits: Tensor, targets: Tensor) -> float:
    """The temperature, between 0.1 and 10, of least log loss.

    Parameters
    ----------
    logits, targets
        (N, C), and int64 (N,).
    """
    z, true = logits.double().numpy(), targets.numpy()
    of_true = z[np.arange(len(z)), true].mean()

    def slope(inverse: float) -> float:
        """Of the log loss, which is convex in the inverse temperature."""
        return float((np.exp(log_softmax(inverse * z, axis=1)) * z).sum(1).mean() - of_true)

    low, high = 1 / HIGHEST, 1 / LOWEST
    if slope(low) >= 0:
        return HIGHEST
    if slope(high) <= 0:
        return LOWEST
    return 1 / brentq(slope, low, high, xtol=1e-10)


def cross_fitted(scores: Scores, seed: int) -> Scores:
    """`scores` with the logits of each fifth of the images divided by the temperature of the other four."""
    folds = np.random.default_rng(seed).permutation(len(scores.targets)) % FOLDS
    logits = scores.logits.clone()
    for fold in range(FOLDS):
        inside = from_numpy(folds == fold)
        logits[inside] /= fit_temperature(scores.logits[~inside], scores.targets[~inside])
    return replace(scores, logits=logits)
