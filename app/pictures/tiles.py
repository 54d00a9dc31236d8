"""Tiles in rows, each with lines under it, as many as there are: only the lines are laid out, by their real widths.

figure = draw_tiles([image], ["cat/1.jpg"], ["empty file"], ["black"])
save(figure, Path("sheet.png"))             # one pixel of an image is one of the file
"""

import math
import textwrap
from collections.abc import Sequence

import numpy as np
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from app.outputs import printable
from app.pictures.fonts import lend_fonts, without_warnings
from app.pictures.saving import DPI

TILE, GAP = 160, 8  # px: the side of a tile, and what is free around it
COLUMNS = 6
FONT_POINTS = 6.1  # 11 px
MOST_LETTERS = 40  # of a line, of which no more fit even of the narrowest that are usual
NAME_LINES, LINES = 11, 16  # eleven lines hold two names of sixty letters, or of the squares of those that no font has
PAPER = "#fafaf8"
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


def draw_tiles(
    images: Sequence[np.ndarray], names: Sequence[str], remarks: Sequence[str], colours: Sequence[str]
) -> Figure:
    """Draw tiles, or an empty sheet.

    Parameters
    ----------
    images
        uint8, (TILE, TILE, 3).
    names, remarks
        Two paragraphs under each; what is beyond `NAME_LINES` and `LINES` ends in an ellipsis.
    colours
        Of the lines under each.
    """
    figure = Figure(dpi=DPI, facecolor=PAPER)
    texts = [
        # From pixels, since the size of the sheet follows from the texts. A file may be called "$x$", no formula.
        figure.text(0, 0, printable(name + remark), transform=None, va="top", fontsize=FONT_POINTS, color=colour)
        for name, remark, colour in zip(names, remarks, colours)
    ]
    for text in texts:
        text.set_parse_math(False)
    lend_fonts(figure)
    heights = [_fit(text, printable(name), printable(remark)) for text, name, remark in zip(texts, names, remarks)]
    columns = min(COLUMNS, max(len(images), 1))
    rows = [max(heights[first : first + columns]) + TILE + GAP for first in range(0, len(images), columns)]
    width, height = columns * (TILE + GAP) + GAP, sum(rows) + GAP
    figure.set_size_inches(width / DPI, max(height, TILE) / DPI)
    top = max(height, TILE) - GAP  # px from below
    for row, used in enumerate(rows):
        for column, index in enumerate(range(row * columns, min((row + 1) * columns, len(images)))):
            x = GAP + column * (TILE + GAP)
            figure.figimage(images[index], x, top - TILE, origin="upper")
            texts[index].set_position((x, top - TILE))
        top -= used
    return figure


def _fit(text: Text, name: str, remark: str) -> int:
    """Break both paragraphs into lines no wider than a tile; return the height of all, px."""
    renderer = RendererAgg(1, 1, DPI)  # to measure by
    with without_warnings():
        lines = _cut(_broken(text, name, renderer), NAME_LINES)
        text.set_text("\n".join(_cut(lines + _broken(text, remark, renderer), LINES)))
        return math.ceil(text.get_window_extent(renderer).height) + GAP // 2


def _broken(text: Text, paragraph: str, renderer: RendererAgg) -> list[str]:
    """The lines of `paragraph` as `text` would show it; `text` is changed."""
    letters = MOST_LETTERS
    while True:
        lines = textwrap.wrap(paragraph, letters)
        text.set_text("\n".join(lines))
        width = text.get_window_extent(renderer).width
        if width <= TILE or letters == 1:
            return lines
        letters = max(1, min(letters - 1, int(letters * TILE / width)))


def _cut(lines: list[str], most: int) -> list[str]:
    return lines if len(lines) <= most else [*lines[: most - 1], lines[most - 1][:-1] + ELLIPSIS]
