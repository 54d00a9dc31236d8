"""A picture of the files that an audit left out or found doubtful, each with its reasons.

print(draw(found, Path("doubtful.png")))    # "12 files are drawn in doubtful.png"
"""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from app.pictures.saving import save
from app.pictures.tiles import TILE, draw_tiles
from data import ImageError, read_image
from data.audit import Audit
from data.counting import counted

MAX_TILES = 300  # 23 MB of pixels, on a sheet of about 1000 x 12000
EMPTY, CROSS = (232, 232, 228), (200, 200, 196)
INK, RED = "#282828", "#be1e1e"


def draw(found: Audit, file: Path) -> str:
    """Write the sheet as a PNG, complete or not at all, and return a sentence about it."""
    reasons = _reasons(found)
    shown = list(reasons)[:MAX_TILES]
    left_out = {path for path, _ in found.skipped}
    figure = draw_tiles(
        [np.asarray(_tile(path)) for path in shown],
        [f"{path.parent.name}/{path.name}" for path in shown],
        ["; ".join(reasons[path]) for path in shown],
        [RED if path in left_out else INK for path in shown],
    )
    save(figure, file)
    more = f", the first of {len(reasons)}" if len(reasons) > len(shown) else ""
    return f"{counted(len(shown), 'file')} drawn in {file}{more}"


def _reasons(found: Audit) -> dict[Path, list[str]]:
    """Each file that is left out, then each that is doubtful, with all that is said about it."""
    reasons = {path: [reason] for path, reason in found.skipped}
    for finding in found.findings:
        for path, remark in finding.files:
            if remark not in reasons.setdefault(path, []):
                reasons[path].append(remark)
    return reasons


def _tile(path: Path) -> Image.Image:
    """The picture on a square; a crossed empty square where there is none."""
    tile = Image.new("RGB", (TILE, TILE), EMPTY)
    try:
        image = read_image(path, for_size=TILE, truncated=True)
    except ImageError:
        pen = ImageDraw.Draw(tile)
        pen.line((0, 0, TILE, TILE), fill=CROSS, width=2)
        pen.line((0, TILE, TILE, 0), fill=CROSS, width=2)
        return tile
    image.thumbnail((TILE, TILE))
    tile.paste(image, ((TILE - image.width) // 2, (TILE - image.height) // 2))
    return tile
