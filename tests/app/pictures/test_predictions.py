"""A sample of validation as a picture: python -m pytest tests/app/pictures/test_predictions.py"""

import pytest
import torch
from PIL import Image

from app.evaluation.scores import Scores
from app.pictures.images import GREEN, RED
from app.pictures.predictions import SHOWN, draw_predictions
from data import Sample

COUNT = 50


@pytest.fixture
def scores(tmp_path):
    """Image n is grey of brightness n; every second one is taken for the other class."""
    for number in range(COUNT):
        Image.new("RGB", (8, 8), (number,) * 3).save(tmp_path / f"{number}.png")
    logits = torch.tensor([[2.0, 0.0]]).repeat(COUNT, 1)
    samples = [Sample(tmp_path / f"{number}.png", "ant") for number in range(COUNT)]
    return Scores(logits, torch.arange(COUNT) % 2, ["ant", "bee"], samples)


def numbers(figure):
    return [int(axis.images[0].get_array()[0, 0, 0]) for axis in figure.axes]


def test_the_sample_is_the_same_for_the_same_seed(scores):
    first, again, other = (numbers(draw_predictions(scores, seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert len(set(first)) == SHOWN


def test_titles_are_what_the_model_said_of_that_image(scores):
    figure = draw_predictions(scores, 1)
    for axis, number in zip(figure.axes, numbers(figure)):
        expected = ("✗ ant (0.88)\ntrue: bee", RED) if number % 2 else ("✓ ant (0.88)\ntrue: ant", GREEN)
        assert (axis.title.get_text(), axis.title.get_color()) == expected


def test_files_that_are_gone_are_left_out(scores):
    *removed, last = scores.samples
    for sample in removed:
        sample.source.unlink()
    shown = draw_predictions(Scores(scores.logits[-9:], scores.targets[-9:], scores.classes, scores.samples[-9:]), 1)
    assert numbers(shown) == [COUNT - 1]
    last.source.unlink()
    assert draw_predictions(scores, 1) is None
