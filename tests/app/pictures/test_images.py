"""A sheet of images with their titles: python -m pytest tests/app/pictures/test_images.py"""

import numpy as np
import pytest

from app.pictures.images import GREEN, RED, draw_images


def test_titles_lie_on_the_sheet_and_apart():
    """Sixty characters, and what would be a formula; no two titles overlap and none is cut off."""
    rng = np.random.default_rng(0)
    sizes = [(48, 48), (20, 300), (300, 20), (8, 8), (100, 90), (64, 64), (64, 64)]
    images = [rng.integers(0, 255, (*size, 3), dtype=np.uint8) for size in sizes]
    titles = ["W" * 60, "$a_b$ taken for $c$", "a\nb\nc", "a name of many short words, " * 8, "", "cat", "dog"]
    figure = draw_images(images, titles, [True, False] * 3 + [True])
    figure.draw_without_rendering()
    shown = [axis.title for axis in figure.axes]
    assert [title.get_color() for title in shown[:2]] == [GREEN, RED]
    assert shown[0].get_text() == "\n".join(["W" * 20] * 3)
    boxes = [title.get_window_extent() for title in shown if title.get_text()]
    for box in boxes:
        assert min(box.x0, box.y0) >= 0
        assert box.x1 <= figure.bbox.x1
        assert box.y1 <= figure.bbox.y1
        assert not any(box.overlaps(other) for other in boxes if other is not box)


@pytest.mark.parametrize("count", [1, 5, 20])
def test_each_image_is_there(count):
    images = [np.full((10, 10, 3), index, np.uint8) for index in range(count)]
    drawn = [axis.images[0].get_array() for axis in draw_images(images, ["x"] * count, [True] * count).axes]
    assert [array[0, 0, 0] for array in drawn] == list(range(count))
