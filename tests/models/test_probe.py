"""The linear probe against scikit-learn's logistic regression, and what it is fitted and chosen on.

python -m pytest tests/models/test_probe.py
"""

import pytest
import torch
from sklearn.linear_model import LogisticRegression

from models.probe import USUAL, balanced, fit_probe, hold_out


@pytest.fixture
def points():
    """120 points of 8 numbers, three classes that overlap, of 60, 40 and 20 points."""
    generator = torch.Generator().manual_seed(0)
    y = torch.tensor([0] * 60 + [1] * 40 + [2] * 20)
    centres = torch.randn(3, 8, generator=generator)
    return 5 + 3 * (centres[y] + torch.randn(120, 8, generator=generator)), y


@pytest.mark.parametrize("weighed", [False, True])
def test_the_solution_is_that_of_scikit_learn(points, weighed):
    x, y = points
    probe = fit_probe(x, y, 3, weights=balanced(y, 3) if weighed else None)
    standard = (x - x.mean(0)) / x.std(0, unbiased=False)
    theirs = LogisticRegression(C=1 / probe.strength, class_weight="balanced" if weighed else None, tol=1e-8)
    theirs.fit(standard, y)
    assert torch.allclose(probe.weight, torch.tensor(theirs.coef_, dtype=torch.float32), atol=1e-3)
    wanted = torch.tensor(theirs.predict_log_proba(standard), dtype=torch.float32)
    assert torch.allclose(probe(x).log_softmax(1), wanted, atol=3e-3)  # logits of float32, up to 10


def test_noise_is_penalised_more_than_what_can_be_told_apart(points):
    x, y = points
    noise = torch.randn(120, 8, generator=torch.Generator().manual_seed(1))
    clear = x + 100 * torch.nn.functional.one_hot(y, 8)
    assert fit_probe(noise, y, 3).strength > 10 * fit_probe(clear, y, 3).strength


def test_a_seed_gives_the_same_probe_again(points):
    first, again = (fit_probe(*points, 3, seed=3) for _ in range(2))
    assert torch.equal(first.weight, again.weight)


def test_features_that_never_change_do_no_harm(points):
    x, y = points
    x = torch.cat([x, torch.full((120, 1), 7.0)], 1)
    probe = fit_probe(x, y, 3)
    assert probe(x).isfinite().all()
    assert (probe(x).argmax(1) == y).float().mean() > 0.8


def test_a_fifth_of_each_class_is_held_out(points):
    _, y = points
    held = hold_out(y, 0.2, seed=0)
    assert y[held].bincount().tolist() == [12, 8, 4]
    assert not torch.equal(held, hold_out(y, 0.2, seed=1))


def test_no_class_is_held_out_whole():
    y = torch.tensor([0, 1, 1, 2, 2, 2])
    held = hold_out(y, 0.2, seed=0)
    assert y[held].bincount(minlength=3).tolist() == [0, 1, 1]


def test_one_image_a_class_is_fitted_with_the_usual_strength():
    x = torch.eye(4)
    probe = fit_probe(x, torch.arange(4), 4)
    assert probe.strength == USUAL
    assert probe(x).argmax(1).tolist() == [0, 1, 2, 3]


def test_balanced_weights_have_mean_one(points):
    _, y = points
    weights = balanced(y, 3)
    assert weights.tolist() == pytest.approx([120 / 180, 1.0, 2.0])
    assert weights[y].mean().item() == pytest.approx(1)
    assert balanced(torch.tensor([0, 0]), 2).isfinite().all()
