"""The one way an image is read, in training, prediction and every tool.

    image = read_image("photo.jpg")             # PIL.Image, mode RGB, upright

The result is what a viewer shows: EXIF orientation applied, transparency on white, sixteen bits scaled
to eight (see ``data/convert.py``). An ICC profile is left alone: the numbers in the file are the numbers
the network sees. HEIC photos are read where ``pillow-heif`` is installed.
"""

import errno
import io
import os
import stat
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image, ImageFile

from data.convert import to_rgb
from data.errors import ImageError
from data.libtiff import silence_libtiff
from data.reasons import reason

try:
    from pillow_heif import register_heif_opener
except ImportError:
    pass
else:
    register_heif_opener()

# Pillow also opens vector formats by calling Ghostscript; a photo named .jpg must never get there.
RASTER = ("AVIF", "BMP", "GIF", "HEIF", "JPEG", "JPEG2000", "MPO", "PNG", "PPM", "TGA", "TIFF", "WEBP")
Image.init()  # registers the plug-ins; which of them there are depends on how Pillow was built
FORMATS = tuple(name for name in RASTER if name in Image.OPEN)
# Our own list, so that a data set has the same images on every machine (MIME tables differ).
_SUFFIXES = ".avif .bmp .gif .heic .heif .jfif .jp2 .jpe .jpeg .jpg .mpo .pbm .pgm .png .pnm .ppm .tga .tif .tiff .webp"
SUFFIXES = frozenset(_SUFFIXES.split())
TRUNCATED_PIXELS = 2**25  # a bit that flips in a header asks for millions of rows, and none of them is there
SPARE = 2  # pixels to each one that is needed: what follows can still average

# Corrupt EXIF blocks and palette transparency make Pillow warn at every image: noise here. Set once and
# for the whole process, since `warnings.catch_warnings` is not safe in threads.
warnings.filterwarnings("ignore", module=r"PIL\.")
silence_libtiff()

Source = Path | str | bytes | np.ndarray


def read_image(source: Source, *, for_size: int | None = None, truncated: bool = False) -> Image.Image:
    """Read one image.

    Parameters
    ----------
    source
        A path, the bytes of an image file, or a uint8 array of shape (height, width, 3).
    for_size
        The side in pixels to which the image is going to be resized. A JPEG of four times that or more is decoded
        at a half, a quarter or an eighth, which is quicker; its shorter side stays twice that or more. None for
        the full size.
    truncated
        Show what there is of an image that ends early, the rest grey or black. For one thread at a time:
        Pillow's switch for it holds for the whole process.

    Returns
    -------
    PIL.Image.Image
        Mode RGB, eight bits a channel, upright; its ``format`` says what the file was ("JPEG"). Of an animation
        or a document, the first frame.

    Raises
    ------
    ImageError
        The file is missing, empty, not an image of a known format, damaged, or too large to be
        decoded safely (Pillow's decompression limit stays on); or its pixels have no known white.
    """
    if isinstance(source, np.ndarray):
        return _from_array(source)
    try:
        with _open(source) as image, _tolerance(truncated):
            if truncated and image.width * image.height > TRUNCATED_PIXELS:
                raise Image.DecompressionBombError
            if for_size is not None:
                image.draft(None, (SPARE * for_size, SPARE * for_size))
            image.load()
            shown = to_rgb(image)
            shown.format = image.format
            return shown
    except Exception as error:  # Pillow raises whatever a decoder met: SyntaxError, struct.error, ...
        raise ImageError(f"{_name(source)}: {reason(source, error, heif='HEIF' in FORMATS)}") from error


def is_reduced(image: Image.Image, for_size: int) -> bool:
    """Whether `read_image` with `for_size` decodes smaller what it read as `image` at full size."""
    return image.format in ("JPEG", "MPO") and min(image.size) >= 2 * SPARE * for_size


def _open(source: Path | str | bytes) -> Image.Image:
    if isinstance(source, bytes):
        return Image.open(io.BytesIO(source), formats=FORMATS)
    mode = os.stat(source).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # a pipe without a writer is waited on for ever
        raise OSError(errno.EINVAL, "not a regular file")
    return Image.open(source, formats=FORMATS)


@contextmanager
def _tolerance(truncated: bool) -> Iterator[None]:
    before = ImageFile.LOAD_TRUNCATED_IMAGES
    ImageFile.LOAD_TRUNCATED_IMAGES = truncated
    try:
        yield
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = before


def _from_array(pixels: np.ndarray) -> Image.Image:
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3:
        raise ImageError(f"image array: {pixels.dtype} {pixels.shape}, expected uint8 (height, width, 3)")
    return Image.fromarray(pixels)


def _name(source: Path | str | bytes) -> str:
    return "image bytes" if isinstance(source, bytes) else str(source)
