"""A confusion matrix as a picture: rows are true classes, columns what they were taken for.

draw_confusion(measures.confusion, measures.classes).savefig("confusion_matrix.png")
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from app.outputs import printable

MOST_NUMBERS = 30  # classes, up to which each count is written into its cell
MOST_NAMES = 60  # classes, up to which each has its name; beyond, every so manieth
LETTERS = 24  # of a name
CELL_INCHES, SMALLEST, LARGEST = 0.32, 3.0, 12.0
DARK = 0.55  # share of a row from which on a number in it is white


def draw_confusion(matrix: np.ndarray, classes: Sequence[str]) -> Figure:
    """Draw each row as shares of its sum, so that classes of unequal size look alike, with the counts in the cells.

    Parameters
    ----------
    matrix
        int64, (C, C).
    classes
        The C names; what is longer than `LETTERS` ends in an ellipsis.
    """
    count = len(classes)
    shares = matrix / np.maximum(matrix.sum(1, keepdims=True), 1)
    side = min(max(count * CELL_INCHES, SMALLEST), LARGEST)
    figure = Figure(figsize=(side + 2.2, side + 1.6), layout="constrained")
    axes = figure.subplots()
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    every = -(-count // MOST_NAMES)
    places = np.arange(0, count, every)
    names = [_short(classes[place]) for place in places]
    size = 8 if count <= MOST_NUMBERS else 6
    for axis, rotation in ((axes.xaxis, 90), (axes.yaxis, 0)):
        # A class may be called "$x$", which is no formula.
        axis.set_ticks(places, names, rotation=rotation, fontsize=size, parse_math=False)
    axes.set(xlabel="predicted", ylabel="true")
    if count <= MOST_NUMBERS:
        for row, column in np.argwhere(matrix):
            colour = "white" if shares[row, column] > DARK else "black"
            axes.text(column, row, matrix[row, column], ha="center", va="center", fontsize=7, color=colour)
    return figure


def _short(name: str) -> str:
    name = printable(name)
    return name if len(name) <= LETTERS else name[: LETTERS - 1] + "\N{HORIZONTAL ELLIPSIS}"
