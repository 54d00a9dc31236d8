"""How good a model is on labelled images, in numbers; what is counted per class is scikit-learn's.

found = measure(scores)
found.accuracy, found.macro.f1, found.confusion
json.dumps(found.summary())
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from app.evaluation.accuracy_interval import CONFIDENCE, Interval, accuracy_interval
from app.evaluation.calibration_error import Calibration, calibration
from app.evaluation.calibration_interval import calibration_interval
from app.evaluation.scores import Scores

TOP = 5
SEED = 42  # of the bootstrap; that of every command


class ClassMeasures(NamedTuple):
    """Precision, recall and F1 in [0, 1], 0 where they are not defined; ``support``: the images they rest on."""

    name: str
    precision: float
    recall: float
    f1: float
    support: int


class Confused(NamedTuple):
    """So many images of one class were taken for another."""

    true: str
    predicted: str
    count: int


@dataclass(frozen=True)
class Measures:
    """What `measure` finds.

    ``top5`` is None with five classes or fewer, where it would be 1. ``log_loss`` is in nats. ``per_class`` has the
    classes that occur among the images or the predictions, and ``macro`` and ``weighted`` are averages of these.
    ``confusion`` is int64 (C, C): rows are true, columns predicted. ``confused`` are its entries off the diagonal,
    largest first.
    """

    classes: list[str]
    images: int
    accuracy: float
    interval: Interval
    top5: float | None
    log_loss: float
    calibration: Calibration
    calibration_interval: Interval
    per_class: list[ClassMeasures]
    macro: ClassMeasures
    weighted: ClassMeasures
    confusion: np.ndarray
    confused: list[Confused]

    def summary(self) -> dict[str, Any]:
        """All of it in values that JSON has."""
        bins = {key: np.asarray(value).tolist() for key, value in vars(self.calibration).items()}
        return {
            "images": self.images,
            "accuracy": self.accuracy,
            "accuracy_interval": _bounds(self.interval),
            f"top{TOP}_accuracy": self.top5,
            "log_loss": self.log_loss,
            "expected_calibration_error": self.calibration.error,
            "calibration_interval": _bounds(self.calibration_interval),
            "macro": _averages(self.macro),
            "weighted": _averages(self.weighted),
            "per_class": [entry._asdict() for entry in self.per_class],
            "confused": [entry._asdict() for entry in self.confused],
            "classes": self.classes,
            "confusion_matrix": self.confusion.tolist(),
            "reliability": bins,
        }


def measure(scores: Scores, seed: int = SEED) -> Measures:
    """Everything about `scores`, which hold one image or more.

    Parameters
    ----------
    seed
        Of the bootstrap of the intervals.
    """
    from sklearn.metrics import confusion_matrix  # a second to import: only when something is measured

    true, predicted = scores.targets.numpy(), scores.predicted.numpy()
    confusion = confusion_matrix(true, predicted, labels=np.arange(len(scores.classes)))
    per_class, macro, weighted = _by_class(scores)
    right = int(confusion.trace())
    return Measures(
        classes=scores.classes,
        images=len(true),
        accuracy=right / len(true),
        interval=accuracy_interval(right, len(true), seed),
        top5=_top5(scores),
        log_loss=scores.losses.double().mean().item(),
        calibration=calibration(scores),
        calibration_interval=calibration_interval(scores, seed),
        per_class=per_class,
        macro=macro,
        weighted=weighted,
        confusion=confusion,
        confused=_confused(confusion, scores.classes),
    )


def _by_class(scores: Scores) -> tuple[list[ClassMeasures], ClassMeasures, ClassMeasures]:
    from sklearn.metrics import precision_recall_fscore_support

    true, predicted = scores.targets.numpy(), scores.predicted.numpy()
    occurring = np.union1d(true, predicted)
    options = {"labels": occurring, "zero_division": 0}
    columns = precision_recall_fscore_support(true, predicted, **options)
    averages = []
    for name in ("macro", "weighted"):
        *figures, _ = precision_recall_fscore_support(true, predicted, average=name, **options)
        averages.append(ClassMeasures(name, *map(float, figures), len(true)))
    rows = zip(occurring.tolist(), *(column.tolist() for column in columns))
    per_class = [ClassMeasures(scores.classes[index], *figures) for index, *figures in rows]
    return per_class, *averages


def _top5(scores: Scores) -> float | None:
    if len(scores.classes) <= TOP:
        return None
    best = scores.logits.topk(TOP, 1).indices
    return torch.eq(best, scores.targets[:, None]).any(1).double().mean().item()


def _confused(confusion: np.ndarray, classes: list[str]) -> list[Confused]:
    """Pairs of different classes; of equal counts those first that come first in the matrix."""
    pairs = [(int(row), int(column)) for row, column in np.argwhere(confusion) if row != column]
    pairs.sort(key=lambda pair: -confusion[pair])
    return [Confused(classes[row], classes[column], int(confusion[row, column])) for row, column in pairs]


def _bounds(interval: Interval) -> dict[str, Any]:
    return {"confidence": CONFIDENCE, **interval._asdict()}


def _averages(entry: ClassMeasures) -> dict[str, float]:
    return {"precision": entry.precision, "recall": entry.recall, "f1": entry.f1}
