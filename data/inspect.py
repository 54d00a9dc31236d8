"""What one file is: opened and decoded once, at full size, by the reader that training uses.

    facts = inspect_file(Path("photos/cat/1.jpg"))
    facts.width, facts.height, facts.digest, facts.reason

Plain values alone, so that they can be remembered (``data/facts_cache.py``) and judged later
(``data/findings.py``).
"""

from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from data.errors import ImageError
from data.reader import read_image

DIGEST_BYTES = 16  # 128 bits: among a million million images, two different ones do not meet
UNIFORM_RANGE = 2  # levels between the darkest and the brightest value; JPEG moves a flat colour by one


class Facts(NamedTuple):
    """What was seen in a file.

    ``width`` and ``height`` are in pixels, upright, and 0 where nothing was decoded. ``format`` is Pillow's name
    of what the content is ("JPEG"). ``digest`` is a hash of the size and the RGB pixels: equal for the same
    picture in two files, whatever their metadata. ``uniform``: one colour all over. ``reason`` says why the file
    cannot be read, or is empty; with ``truncated`` what there is of it can be shown. ``lasting`` is false when
    the reason may go without a change of the file: a permission, a network drive.
    """

    width: int = 0
    height: int = 0
    format: str = ""
    digest: str = ""
    uniform: bool = False
    truncated: bool = False
    reason: str = ""
    lasting: bool = True


def inspect_file(path: Path, keep: Callable[[Image.Image], None] | None = None) -> Facts:
    """Decode `path` and say what it is; never raises for what is wrong with the file.

    Parameters
    ----------
    keep
        Called with the image, where there is one: what else it is good for need not be decoded again.
    """
    try:
        image = read_image(path)
        if keep is not None:
            keep(image)
        return _facts(image)
    except ImageError as error:
        reason = str(error).removeprefix(f"{path}: ")
        return Facts(reason=reason, lasting=not _from_system(error.__cause__))


def inspect_truncated(path: Path, facts: Facts) -> Facts:
    """Add to the `facts` of a file that ends early what there is of its picture, if anything.

    Not safe beside another thread that reads: Pillow's switch for it holds for the whole process.
    """
    try:
        return _facts(read_image(path, truncated=True))._replace(truncated=True, reason=facts.reason)
    except ImageError:
        return facts


def ends_early(facts: Facts) -> bool:
    """Whether Pillow says of an unreadable file that the rest of it is missing."""
    return "truncated" in facts.reason.lower()


def _facts(image: Image.Image) -> Facts:
    width, height = image.size
    digest = blake2b(f"{width}x{height}".encode(), digest_size=DIGEST_BYTES)
    digest.update(image.tobytes())
    uniform = all(high - low <= UNIFORM_RANGE for low, high in image.getextrema())
    return Facts(width, height, image.format or "", digest.hexdigest(), uniform)


def _from_system(error: BaseException | None) -> bool:
    """Whether the system failed, and not the file's content (Pillow's own OSErrors have no number)."""
    return isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno is not None)
