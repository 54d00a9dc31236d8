"""Tiles with lines under them: python -m pytest tests/app/pictures/test_tiles.py"""

from itertools import combinations

import numpy as np
import pytest
from PIL import Image

from app.pictures.saving import DPI, save
from app.pictures.tiles import COLUMNS, GAP, LINES, NAME_LINES, TILE, draw_tiles

RED, INK = "#be1e1e", "#282828"


def plain(brightness):
    return np.full((TILE, TILE, 3), brightness, np.uint8)


def laid_out(names, remarks):
    """The figure, and the boxes of its texts, px from below."""
    figure = draw_tiles([plain(0)] * len(names), names, remarks, [INK] * len(names))
    figure.draw_without_rendering()
    return figure, [text.get_window_extent() for text in figure.texts]


def tile_boxes(figure):
    return [(image.ox, image.oy, image.ox + TILE, image.oy + TILE) for image in figure.images]


@pytest.mark.usefixtures("each_machines_fonts")
@pytest.mark.parametrize("letter", ["W", "i", "猫", "ش", "🐶", "ಔ", "$x^2$"])
def test_sixty_letters_of_any_script_are_all_there_and_under_their_tile(letter):
    name = f"{letter * 60}/{letter * 60}.jpg"[:125]
    figure, boxes = laid_out([name] * (COLUMNS + 1), ["empty file"] * (COLUMNS + 1))
    width, height = figure.get_size_inches() * DPI
    for text, box, (left, bottom, right, _) in zip(figure.texts, boxes, tile_boxes(figure)):
        *of_name, last = text.get_text().splitlines()
        assert ("".join(of_name), last) == (name, "empty file")
        assert left - 1 <= box.x0
        assert box.x1 <= right + 1
        assert box.y1 <= bottom + 1
        assert box.y0 >= 0
        assert right <= width
    assert max(top for *_, top in tile_boxes(figure)) <= height
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def test_a_row_is_as_high_as_its_longest_text():
    names = ["short"] * COLUMNS + ["W" * 100, "short"] + ["short"] * (COLUMNS - 2) + ["short"]
    figure, boxes = laid_out(names, ["remark"] * len(names))
    tops = sorted({image.oy + TILE for image in figure.images}, reverse=True)
    first, second = tops[0] - tops[1], tops[1] - tops[2]
    assert TILE + GAP < first < second
    for box in boxes[:COLUMNS]:
        assert box.y0 > tops[1]


def test_what_is_too_long_ends_in_an_ellipsis():
    figure, _ = laid_out(["W" * 400], ["a reason of many words " * 40])
    lines = figure.texts[0].get_text().splitlines()
    assert len(lines) == LINES
    assert lines[NAME_LINES - 1].strip("W") == lines[-1][-1] == "…"
    assert lines[NAME_LINES].startswith("a reason")


def test_a_wide_name_does_not_break_its_remark():
    figure, _ = laid_out(["W" * 30], ["damaged (ends early)"])
    assert figure.texts[0].get_text().splitlines()[-1] == "damaged (ends early)"


def test_what_would_move_a_cursor_is_spelled_out():
    figure, _ = laid_out(["a\nb\udcff"], [""])
    assert figure.texts[0].get_text() == "a\\nb\\udcff"


def test_pixels_and_colours_are_those_given(tmp_path):
    images = [plain(10 * index) for index in range(8)]
    images[3][:80] = 255  # its upper half
    figure = draw_tiles(images, ["x"] * 8, [""] * 8, [RED, *[INK] * 7])
    with Image.open(save(figure, tmp_path / "sheet.png")) as sheet:
        pixels = np.asarray(sheet.convert("RGB"))
    assert pixels.shape[1] == COLUMNS * (TILE + GAP) + GAP
    for index, image in enumerate(figure.images):
        y, x = pixels.shape[0] - int(image.oy) - TILE, int(image.ox)
        assert (pixels[y : y + TILE, x : x + TILE] == images[index]).all()
    reddest = pixels[GAP + TILE : GAP + TILE + 12, GAP : GAP + 10].astype(int)
    assert (reddest[..., 0] - reddest[..., 1]).max() > 100
    others = pixels[GAP + TILE : GAP + TILE + 12, 2 * GAP + TILE : 2 * GAP + TILE + 10].astype(int)
    assert abs(others[..., 0] - others[..., 1]).max() < 10


def test_an_empty_sheet(tmp_path):
    with Image.open(save(draw_tiles([], [], [], []), tmp_path / "sheet.png")) as sheet:
        assert sheet.size == (TILE + 2 * GAP, TILE)
