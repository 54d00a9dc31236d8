"""A sheet of images with their titles: python -m pytest tests/app/pictures/test_images.py"""

from itertools import pairwise

import numpy as np
import pytest
from PIL import Image

from app.pictures.fonts import lend_fonts
from app.pictures.images import BLACK, GREEN, RED, SIDE, draw_images, thumbnail
from app.pictures.saving import DPI
from data import ImageError

WIDEST = ["W", "猫", "🐶", "ش", "ಔ"]


def test_titles_lie_on_the_sheet_and_apart():
    """Sixty characters, and what would be a formula; no two titles overlap and none is cut off."""
    rng = np.random.default_rng(0)
    sizes = [(48, 48), (20, 300), (300, 20), (8, 8), (100, 90), (64, 64), (64, 64)]
    images = [rng.integers(0, 255, (*size, 3), dtype=np.uint8) for size in sizes]
    titles = ["W" * 60, "$a_b$ taken for $c$", "a\nb\nc", "a name of many short words, " * 8, "", "cat", "dog"]
    figure = draw_images(images, titles, [True, False] * 3 + [True])
    figure.set_dpi(DPI)  # widths are rounded to pixels
    figure.draw_without_rendering()
    shown = [axis.title for axis in figure.axes]
    assert [title.get_color() for title in shown[:2]] == [GREEN, RED]
    assert shown[0].get_text() == "\n".join(["✓ " + "W" * 14, "W" * 16, "W" * 16, "W" * 14])
    assert shown[1].get_text().startswith("✗ $a_b$")
    boxes = [title.get_window_extent() for title in shown if title.get_text()]
    for box in boxes:
        assert min(box.x0, box.y0) >= 0
        assert box.x1 <= figure.bbox.x1
        assert box.y1 <= figure.bbox.y1
        assert not any(box.overlaps(other) for other in boxes if other is not box)


@pytest.mark.usefixtures("each_machines_fonts")
@pytest.mark.parametrize("letter", WIDEST)
def test_sixty_letters_of_any_script_lie_on_the_sheet(letter):
    figure = draw_images([np.zeros((40, 40, 3), np.uint8)] * 5, [f"{letter * 60} (0.93)\ntrue: {letter * 60}"] * 5)
    lend_fonts(figure)
    figure.set_dpi(DPI)  # widths are rounded to pixels
    figure.draw_without_rendering()
    boxes = [axis.title.get_window_extent() for axis in figure.axes]
    assert all(box.x0 >= 0 and box.y1 <= figure.bbox.y1 and box.x1 <= figure.bbox.x1 for box in boxes)
    assert not any(one.overlaps(other) for one, other in pairwise(boxes))


def test_titles_without_a_verdict_are_black_and_unmarked():
    (axis,) = draw_images([np.zeros((4, 4, 3), np.uint8)], ["ca\udcfft\x07"]).axes
    assert (axis.title.get_text(), axis.title.get_color()) == ("ca\\udcfft\\x07", BLACK)


@pytest.mark.parametrize(("count", "columns"), [(1, 1), (5, 5), (7, 4), (16, 4), (20, 5)])
def test_rows_are_full(count, columns):
    figure = draw_images([np.zeros((4, 4, 3), np.uint8)] * count, ["x"] * count)
    assert figure.axes[0].get_gridspec().ncols == columns


def test_a_thumbnail(tmp_path):
    Image.new("RGB", (1200, 300), (255, 0, 0)).save(tmp_path / "wide.png")
    assert thumbnail(tmp_path / "wide.png").shape == (SIDE // 4, SIDE, 3)
    with pytest.raises(ImageError, match=r"gone\.png"):
        thumbnail(tmp_path / "gone.png")


@pytest.mark.parametrize("count", [1, 5, 20])
def test_each_image_is_there(count):
    images = [np.full((10, 10, 3), index, np.uint8) for index in range(count)]
    drawn = [axis.images[0].get_array() for axis in draw_images(images, ["x"] * count, [True] * count).axes]
    assert [array[0, 0, 0] for array in drawn] == list(range(count))
