"""The interval of a calibration error: python -m pytest tests/app/evaluation/test_calibration_interval.py"""

import numpy as np
import pytest
import torch

import data
from app.evaluation import calibration_interval as module
from app.evaluation.calibration_error import calibration
from app.evaluation.calibration_interval import calibration_interval
from app.evaluation.scores import Scores


def said(images, seed, too_sure=0.0):
    """Two classes: the first is always predicted; it is right less often than said by `too_sure`."""
    draw = np.random.default_rng(seed)
    likeliest = draw.uniform(0.6, 0.95, images)
    right = draw.random(images) < likeliest - too_sure
    logits = torch.tensor(np.log(np.stack([likeliest, 1 - likeliest], 1))).float()
    return Scores(logits, torch.tensor(~right).long(), ["a", "b"], [data.Sample(None, "")] * images)


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(module, "RESAMPLES", 200)


@pytest.mark.parametrize("too_sure", [0.0, 0.1])
def test_it_holds_the_true_error_far_more_often_than_not(quick, too_sure):
    """Of 30 samples of 80 images."""
    found = [calibration_interval(said(80, seed, too_sure), seed=1) for seed in range(30)]
    assert sum(low <= too_sure <= high for low, high, _ in found) >= 25


def test_it_begins_above_0_where_the_error_is_sure():
    scores = said(1500, seed=0, too_sure=0.1)
    low, high, method = calibration_interval(scores, seed=1)
    assert 0.05 < low < calibration(scores).error < high < 0.15
    assert method == "basic bootstrap, 1,000 resamples of images, seed 1"
    assert calibration_interval(scores, seed=1) == (low, high, method)
    assert calibration_interval(scores, seed=2) != (low, high, method)


def test_more_images_make_it_narrower(quick):
    widths = [np.ptp(calibration_interval(said(images, 0, 0.1), seed=1)[:2]) for images in (50, 2000)]
    assert widths[1] < widths[0] / 2


def test_one_image():
    low, high, _ = calibration_interval(said(1, seed=0), seed=1)
    assert 0 <= low <= calibration(said(1, seed=0)).error <= high <= 1
