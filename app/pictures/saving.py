"""From a figure to a PNG file.

save(draw_reliability(found), Path("reliability.png"))
"""

from pathlib import Path

from matplotlib.figure import Figure

from app.outputs import written
from app.pictures.fonts import lend_fonts, without_warnings

DPI = 130


def save(figure: Figure, path: Path) -> Path:
    """Write `figure` as PNG, whole or not at all; return `path`."""
    lend_fonts(figure)
    with written(path) as partial, without_warnings():  # of empty squares, of which there is one of ours
        figure.savefig(partial, format="png", dpi=DPI)
    return path
