"""Figures of a model's quality against scikit-learn's: python -m pytest tests/app/evaluation/test_metrics.py"""

import json

import numpy as np
import pytest
import torch
from sklearn.metrics import classification_report, log_loss, top_k_accuracy_score

import data
from app.evaluation.metrics import Confused, measure
from app.evaluation.scores import Scores


@pytest.mark.parametrize("absent", [0, 1])
def test_averages_and_classes_are_those_of_classification_report(noisy_scores, absent):
    """Its default: classes that neither occur nor are predicted are left out, those only predicted count as 0."""
    scores = noisy_scores(absent=absent)
    found = measure(scores)
    names = np.array(scores.classes)
    true, said = names[scores.targets], names[scores.predicted]
    expected = classification_report(true, said, output_dict=True, zero_division=0)
    assert found.accuracy == pytest.approx(expected["accuracy"], abs=1e-15)
    for entry, key in [(found.macro, "macro avg"), (found.weighted, "weighted avg")]:
        wanted = expected[key]
        assert (entry.precision, entry.recall, entry.f1) == (wanted["precision"], wanted["recall"], wanted["f1-score"])
    assert {entry.name for entry in found.per_class} == {*true, *said}
    for entry in found.per_class:
        wanted = expected[entry.name]
        assert entry[1:] == (wanted["precision"], wanted["recall"], wanted["f1-score"], wanted["support"])


def test_top5_and_log_loss(noisy_scores):
    scores = noisy_scores(images=500, absent=1)
    found = measure(scores)
    labels = range(len(scores.classes))
    probabilities = scores.logits.double().softmax(1).numpy()
    assert found.top5 == pytest.approx(top_k_accuracy_score(scores.targets, probabilities, k=5, labels=labels))
    assert found.log_loss == pytest.approx(log_loss(scores.targets, probabilities, labels=labels), rel=1e-6)
    assert measure(noisy_scores(classes=5)).top5 is None


def test_confused_pairs():
    predicted = torch.tensor([1, 1, 0, 2, 0, 2])
    targets = torch.tensor([0, 0, 1, 1, 0, 2])
    logits = torch.nn.functional.one_hot(predicted, 4).float()
    found = measure(Scores(logits, targets, ["a", "b", "c", "d"], [data.Sample(None, "")] * 6))
    assert found.confusion.tolist() == [[1, 2, 0, 0], [1, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
    assert found.confused == [Confused("a", "b", 2), Confused("b", "a", 1), Confused("b", "c", 1)]


def test_summary_is_json_and_complete(noisy_scores):
    found = measure(noisy_scores(absent=1))
    summary = json.loads(json.dumps(found.summary(), allow_nan=False))
    assert summary["images"] == 40 == np.sum(summary["confusion_matrix"]) == sum(summary["reliability"]["count"])
    assert summary["accuracy_interval"]["low"] < summary["accuracy"] < summary["accuracy_interval"]["high"]
    low, high = (summary["calibration_interval"][key] for key in ("low", "high"))
    assert low <= summary["expected_calibration_error"] <= high
    assert summary["expected_calibration_error"] == found.calibration.error
    assert summary["per_class"][0] == found.per_class[0]._asdict()
