"""Images on a sheet, each with a title, which may be marked as right or wrong.

draw_images(images, ["cat 0.93", "dog for cat 0.81"], right=[True, False]).savefig("sheet.png")
"""

import textwrap
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from app.outputs import printable
from data import read_image
from data.reader import Source

SIDE = 320  # px, of the longer side of a thumbnail
MAX_COLUMNS = 5
TILE_INCHES, LINE_INCHES = 2.1, 0.14
FONT_POINTS, LETTERS, MAX_LINES = 7.5, 16, 10  # of a title over a tile, whose width holds so many of the widest letters
GREEN, RED, BLACK = "#2f855a", "#c53030", "black"
MARKS = {True: ("\N{CHECK MARK} ", GREEN), False: ("\N{BALLOT X} ", RED), None: ("", BLACK)}  # not by colour alone


def draw_images(images: Sequence[np.ndarray], titles: Sequence[str], right: Sequence[bool] | None = None) -> Figure:
    """Draw one image or more.

    Parameters
    ----------
    images
        uint8, of shape (height, width, 3), of any sizes.
    titles
        Lines are broken where they are too long, and beyond `MAX_LINES` left out.
    right
        Which titles are green, with a tick; the others are red, with a cross. None for all in black.
    """
    rows = -(-len(images) // MAX_COLUMNS)
    columns = -(-len(images) // rows)  # as few as make no more rows
    marks = [MARKS[good] for good in ([None] * len(images) if right is None else right)]
    texts = [_wrapped(mark + title) for (mark, _), title in zip(marks, titles)]
    lines = max(text.count("\n") + 1 for text in texts)
    height = rows * (TILE_INCHES + (lines + 1) * LINE_INCHES)
    figure = Figure(figsize=(columns * TILE_INCHES + 0.2, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).flatten()
    for axis in axes:
        axis.axis("off")
    for axis, image, text, (_, colour) in zip(axes, images, texts, marks):
        axis.imshow(image)
        axis.set_anchor("N")  # right under its title; from the middle, the first layout would cut off titles
        # A class may be called "$x$", which is no formula.
        axis.set_title(text, fontsize=FONT_POINTS, color=colour, parse_math=False)
    return figure


def thumbnail(source: Source, truncated: bool = False) -> np.ndarray:
    """An image for a sheet, uint8 (height, width, 3).

    Parameters
    ----------
    truncated
        As of `data.read_image`, whose `ImageError` is raised.
    """
    image = read_image(source, for_size=SIDE, truncated=truncated)
    image.thumbnail((SIDE, SIDE))
    return np.asarray(image.convert("RGB"))


def _wrapped(title: str) -> str:
    lines = [part for line in title.split("\n") for part in textwrap.wrap(printable(line), LETTERS) or [""]]
    return "\n".join(lines[:MAX_LINES])
