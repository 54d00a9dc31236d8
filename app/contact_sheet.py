"""A picture of the files that an audit left out or found doubtful, each with its reasons.

print(draw(found, Path("doubtful.png")))    # "12 files are drawn in doubtful.png"
"""

import textwrap
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from app.outputs import written
from data import ImageError, read_image
from data.audit import Audit
from data.counting import counted

TILE = 160  # px, the side of the square a picture is fitted into
TEXT_LINES, LINE_HEIGHT, LINE_LETTERS = 5, 13, 27  # under it, at FONT_SIZE
FONT_SIZE = 11
GAP = 8
COLUMNS = 6
MAX_TILES = 300  # a sheet of 6 x 50: about 1000 x 12000 px
PAPER, INK, RED = (250, 250, 248), (40, 40, 40), (190, 30, 30)


def draw(found: Audit, file: Path) -> str:
    """Write the sheet as a PNG, complete or not at all, and return a sentence about it."""
    reasons = _reasons(found)
    shown = list(reasons.items())[:MAX_TILES]
    columns = min(COLUMNS, max(len(shown), 1))
    rows = max(-(-len(shown) // columns), 1)
    cell = TILE + TEXT_LINES * LINE_HEIGHT
    sheet = Image.new("RGB", (columns * (TILE + GAP) + GAP, rows * (cell + GAP) + GAP), PAPER)
    pen = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(FONT_SIZE)
    left_out = {path for path, _ in found.skipped}
    for index, (path, remarks) in enumerate(shown):
        row, column = divmod(index, columns)
        x, y = GAP + column * (TILE + GAP), GAP + row * (cell + GAP)
        sheet.paste(_tile(path), (x, y))
        lines = textwrap.wrap(f"{path.parent.name}/{path.name}", LINE_LETTERS)[:2]
        lines += textwrap.wrap("; ".join(remarks), LINE_LETTERS)[: TEXT_LINES - len(lines)]
        for number, line in enumerate(lines):
            color = RED if path in left_out else INK
            pen.text((x, y + TILE + number * LINE_HEIGHT), _printable(line), color, font=font)
    with written(file) as path:
        sheet.save(path, format="PNG")
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
    tile = Image.new("RGB", (TILE, TILE), (232, 232, 228))
    try:
        image = read_image(path, for_size=TILE, truncated=True)
    except ImageError:
        pen = ImageDraw.Draw(tile)
        pen.line((0, 0, TILE, TILE), fill=(200, 200, 196), width=2)
        pen.line((0, TILE, TILE, 0), fill=(200, 200, 196), width=2)
        return tile
    image.thumbnail((TILE, TILE))
    tile.paste(image, ((TILE - image.width) // 2, (TILE - image.height) // 2))
    return tile


def _printable(line: str) -> str:
    return line.encode("utf-8", "replace").decode("utf-8")
