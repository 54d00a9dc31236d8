"""Expected calibration error, by hand: python -m pytest tests/app/evaluation/test_calibration_error.py"""

import pytest
import torch

import data
from app.evaluation.calibration_error import calibration
from app.evaluation.scores import Scores


def scores(likeliest, right):
    """Two classes: the first is always predicted, with the probability given."""
    probabilities = torch.tensor([[value, 1 - value] for value in likeliest], dtype=torch.float64)
    targets = torch.tensor([0 if hit else 1 for hit in right])
    return Scores(probabilities.log().float(), targets, ["a", "b"], [data.Sample(None, "")] * len(right))


def test_by_hand():
    found = calibration(scores([0.95, 0.97, 0.55, 0.58], [1, 1, 1, 0]), bins=10)
    assert found.count.tolist() == [2, 2]
    assert found.low.tolist() == pytest.approx([0.5, 0.9])
    assert found.high.tolist() == pytest.approx([0.6, 1.0])
    assert found.confidence.tolist() == pytest.approx([0.565, 0.96], abs=1e-6)
    assert found.accuracy.tolist() == [0.5, 1.0]
    assert found.error == pytest.approx((0.065 + 0.04) / 2, abs=1e-6)


def test_the_naive_loop_agrees(noisy_scores):
    made = noisy_scores(images=400)
    error = 0
    for index in range(15):
        inside = [
            row
            for row, value in enumerate(made.probabilities.amax(1).tolist())
            if index / 15 < value <= (index + 1) / 15
        ]
        if inside:
            said = made.probabilities.amax(1)[inside].double().mean().item()
            right = (made.predicted == made.targets)[inside].double().mean().item()
            error += len(inside) / 400 * abs(said - right)
    assert calibration(made).error == pytest.approx(error, abs=1e-12)


def test_certain_and_right_has_no_error():
    found = calibration(Scores(torch.tensor([[200.0, 0.0]]), torch.tensor([0]), ["a", "b"], [data.Sample(None, "")]))
    assert (found.error, found.high.tolist()) == (0.0, [1.0])
