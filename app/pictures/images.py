"""Images on a sheet, each with a title in green or red.

draw_images(images, ["cat 0.93", "dog for cat 0.81"], right=[True, False]).savefig("sheet.png")
"""

import textwrap
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

MAX_COLUMNS = 5
TILE_INCHES, LINE_INCHES = 2.1, 0.14
FONT_POINTS, LETTERS, MAX_LINES = 7.5, 20, 8  # of a title over a tile, whose width holds so many of the widest letters
GREEN, RED = "#2f855a", "#c53030"


def draw_images(images: Sequence[np.ndarray], titles: Sequence[str], right: Sequence[bool]) -> Figure:
    """Draw one image or more.

    Parameters
    ----------
    images
        uint8, of shape (height, width, 3), of any sizes.
    titles
        Lines are broken where they are too long, and beyond `MAX_LINES` left out.
    right
        Which titles are green; the others are red.
    """
    columns = min(MAX_COLUMNS, len(images))
    rows = -(-len(images) // columns)
    texts = [_wrapped(title) for title in titles]
    lines = max(text.count("\n") + 1 for text in texts)
    height = rows * (TILE_INCHES + (lines + 1) * LINE_INCHES)
    figure = Figure(figsize=(columns * TILE_INCHES + 0.2, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).flatten()
    for axis in axes:
        axis.axis("off")
    for axis, image, text, good in zip(axes, images, texts, right):
        axis.imshow(image)
        # A class may be called "$x$", which is no formula.
        axis.set_title(text, fontsize=FONT_POINTS, color=GREEN if good else RED, parse_math=False)
    return figure


def _wrapped(title: str) -> str:
    lines = [part for line in title.split("\n") for part in textwrap.wrap(line, LETTERS) or [""]]
    return "\n".join(lines[:MAX_LINES])
