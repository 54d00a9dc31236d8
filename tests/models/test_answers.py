"""What a damaged network, or one of another program, is answered with.

python -m pytest tests/models/test_answers.py
"""

from pathlib import Path

import numpy as np
import pytest
import torch

from models.answers import answer
from models.errors import ModelError

IMAGES = ["image", "image"]
LOGITS = [[0.5, 1.0, 2.0], [1.0, 0.0, -3.0]]


def failing(_):
    raise AttributeError("'Conv2d' object has no attribute 'padding_mode'")


@pytest.mark.parametrize("kind", [np.array, torch.tensor])
def test_finite_numbers_for_each_image_and_class_are_an_answer(kind):
    assert answer(Path("m.pkl"), lambda _: kind(LOGITS), IMAGES, 3).tolist() == LOGITS


@pytest.mark.parametrize("kind", [np.array, torch.tensor])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number(kind, value):
    with pytest.raises(ModelError, match=r"^m\.pkl answers with what is no number, its weights are damaged: export "):
        answer(Path("m.pkl"), lambda _: kind([LOGITS[0], [1.0, value, 0.0]]), IMAGES, 3)


def test_another_number_of_classes():
    with pytest.raises(ModelError, match=r"^m\.onnx answers 2 x 4 by \(2, 3\) values: export the model again$"):
        answer(Path("m.onnx"), lambda _: np.array(LOGITS), IMAGES, 4)


def test_a_network_that_fails():
    with pytest.raises(ModelError, match=r"^m\.pkl cannot be run \(AttributeError: 'Conv2d' object has no attribute "):
        answer(Path("m.pkl"), failing, IMAGES, 3)


def test_a_lack_of_memory_is_no_fault_of_the_file():
    def run(_):
        return torch.empty(2**60)

    with pytest.raises(RuntimeError) as raised:
        answer(Path("m.pkl"), run, IMAGES, 3)
    assert not isinstance(raised.value, ModelError)
