"""The temperature of best log loss, and when there is none.

python -m pytest tests/app/evaluation/test_temperature.py
"""

import pytest
import torch
import torch.nn.functional as F

from app.evaluation import temperature
from app.evaluation.calibration_error import calibration
from app.evaluation.calibration_interval import calibration_interval
from app.evaluation.scores import Scores
from app.evaluation.temperature import HIGHEST, calibrate, cross_fitted, fit_temperature
from data import Sample


def honest(count, classes=4, scale=3.0, sharpness=2.0, seed=0):
    """Logits whose softmax is the chance of each class, then multiplied by `scale`: its temperature is `scale`."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(count, classes, generator=generator) * sharpness
    targets = torch.multinomial(logits.softmax(1), 1, generator=generator).flatten()
    return Scores(logits * scale, targets, list("abcd")[:classes], [Sample(None, "")] * count)


def by_gradient(scores):
    """The same by another way: L-BFGS on the logarithm of the temperature."""
    log = torch.zeros((), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([log], max_iter=200, tolerance_grad=1e-10, line_search_fn="strong_wolfe")

    def loss():
        optimizer.zero_grad()
        total = F.cross_entropy(scores.logits.double() / log.exp(), scores.targets)
        total.backward()
        return total

    optimizer.step(loss)
    return log.exp().item()


@pytest.mark.parametrize("scale", [0.5, 1.0, 3.0])
def test_it_is_found(scale):
    scores = honest(20_000, scale=scale)
    found = fit_temperature(scores.logits, scores.targets)
    assert found == pytest.approx(scale, rel=0.03)
    assert found == pytest.approx(by_gradient(scores), abs=1e-3)


def test_it_has_limits():
    wrong = torch.tensor([[0.0, 9.0], [0.0, 9.0]])
    assert fit_temperature(wrong, torch.tensor([0, 0])) == HIGHEST
    assert fit_temperature(wrong, torch.tensor([1, 1])) == 0.1
    mostly_wrong = honest(200, scale=50.0)
    assert calibrate(mostly_wrong, seed=1).sentence.startswith(
        "temperature 10.000, a bound of what is tried (log loss "
    )


def test_overconfidence_is_mended():
    scores = honest(400)
    found = calibrate(scores, seed=1)
    assert found.temperature == pytest.approx(fit_temperature(scores.logits, scores.targets))
    before, after = found.log_loss
    assert before == pytest.approx(F.cross_entropy(scores.logits, scores.targets).item(), abs=1e-6)
    assert after < before - 0.2
    assert found.error[0] == calibration(scores).error > found.error[1]
    assert 0 <= found.interval[0] < found.interval[1] < 0.15
    assert found.sentence.startswith(f"temperature {found.temperature:.3f} (log loss {before:.4f} -> {after:.4f}, ")
    assert found.sentence.endswith("cross-fitted)")


def test_few_images_are_called_uncertain():
    assert calibrate(honest(60), seed=1).sentence.endswith(", cross-fitted; uncertain, with 60 images)")


def test_each_image_is_judged_by_the_others():
    """One image with a huge wrong logit: the other folds do not know of it."""
    scores = honest(100, scale=1.0)
    logits = scores.logits.clone()
    found = cross_fitted(scores, seed=0)
    ratios = (logits / found.logits)[:, 0]
    assert len({round(value, 4) for value in ratios.tolist()}) == 5
    assert torch.equal(scores.logits, logits)


def test_where_it_would_not_help_there_is_none():
    """Of honest logits every other temperature is chance; a seed for which cross-fitting says so."""
    for seed in range(20):
        found = calibrate(honest(100, scale=1.0, seed=seed), seed=seed)
        assert found.log_loss[1] <= found.log_loss[0] or found.temperature == 1
        if found.temperature == 1:
            break
    assert found.temperature == 1
    assert found.sentence.startswith("none (it would not help: log loss ")


def test_without_an_error_there_is_nothing_to_learn_from():
    logits = torch.eye(4).repeat(10, 1)
    perfect = Scores(logits, logits.argmax(1), list("abcd"), [Sample(None, "")] * 40)
    assert calibrate(perfect, 0).sentence == "none (no validation image is wrong)"
    few = Scores(logits[:12], 3 - logits[:12].argmax(1), list("abcd"), [Sample(None, "")] * 12)
    assert calibrate(few, 0).sentence == "none (12 validation images are too few)"
    assert calibrate(few, 0).temperature == 1


def test_the_interval_is_that_of_the_error_after():
    found = calibrate(honest(150), seed=3)
    assert found.interval == calibration_interval(temperature.cross_fitted(honest(150), 3), 3)[:2]
    assert found.interval[0] <= found.error[1] <= found.interval[1]


def test_of_many_images_a_part_is_enough(monkeypatch):
    monkeypatch.setattr(temperature, "MOST", 300)
    scores = honest(2000)
    found = calibrate(scores, seed=1)
    assert found.images == 300
    assert found.temperature == pytest.approx(3, rel=0.2)
    assert calibrate(scores, seed=1) == found
