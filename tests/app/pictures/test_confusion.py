"""The picture of a confusion matrix: nothing cut off, whatever the classes are called.

python -m pytest tests/app/pictures/test_confusion.py
"""

import warnings
from itertools import pairwise

import numpy as np
import pytest

from app.pictures.confusion import LETTERS, draw_confusion
from app.pictures.fonts import lend_fonts

NAMES = {
    2: ["ants", "bees"],
    5: ["猫", "كلب", "🐶 dog", "$x_1$", "ca\udcfft"],
    17: [f"a name of sixty letters, of which the last are the number {n:02}" for n in range(17)],
    100: [f"class {number}" for number in range(100)],
}


def labels(axis):
    return [label for label in axis.get_ticklabels() if label.get_text()]


@pytest.mark.parametrize("count", NAMES)
def test_everything_lies_within_the_picture(count):
    matrix = np.diag(np.arange(1, count + 1))
    figure = draw_confusion(matrix, NAMES[count])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        lend_fonts(figure)
        figure.draw_without_rendering()
        (axes,) = figure.axes
        texts = [*labels(axes.xaxis), *labels(axes.yaxis), axes.xaxis.label, axes.yaxis.label, *axes.texts]
        boxes = [text.get_window_extent() for text in texts]
    width, height = figure.get_size_inches() * figure.dpi
    assert all(box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height for box in boxes)
    for axis, start in ((axes.xaxis, "x0"), (axes.yaxis, "y0")):
        drawn = sorted((label.get_window_extent() for label in labels(axis)), key=lambda box: getattr(box, start))
        assert not any(one.overlaps(next_one) for one, next_one in pairwise(drawn))


def test_numbers_and_names():
    (axes,) = draw_confusion(np.array([[3, 1], [0, 2]]), ["a" * 60, "b"]).axes
    assert [(text.get_position(), text.get_text()) for text in axes.texts] == [
        ((0, 0), "3"),
        ((1, 0), "1"),
        ((1, 1), "2"),
    ]
    assert [label.get_text() for label in labels(axes.yaxis)] == ["a" * (LETTERS - 1) + "…", "b"]
    assert axes.images[0].get_array().tolist() == [[0.75, 0.25], [0, 1]]


def test_a_class_without_images_is_a_row_of_nothing():
    (axes,) = draw_confusion(np.array([[3, 0], [0, 0]]), ["a", "b"]).axes
    assert axes.images[0].get_array().tolist() == [[1, 0], [0, 0]]


def test_many_classes_have_no_numbers_and_every_second_name():
    (axes,) = draw_confusion(np.eye(100, dtype=int), NAMES[100]).axes
    assert not axes.texts
    assert [label.get_text() for label in labels(axes.xaxis)][:3] == ["class 0", "class 2", "class 4"]
