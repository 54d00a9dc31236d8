"""From a figure to a PNG file.

save(draw_reliability(found), Path("reliability.png"))
"""

import warnings
from pathlib import Path

from matplotlib.figure import Figure

from app.outputs import written
from app.pictures.fonts import lend_fonts

DPI = 130


def save(figure: Figure, path: Path) -> Path:
    """Write `figure` as PNG, whole or not at all; return `path`."""
    lend_fonts(figure)
    with written(path) as partial, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # an empty square says so too
        figure.savefig(partial, format="png", dpi=DPI)
    return path
