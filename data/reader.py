"""The one way an image is read, in training, prediction and every tool.

    image = read_image("photo.jpg")             # PIL.Image, mode RGB, upright

The result is what a viewer shows: EXIF orientation applied, transparency on white, sixteen bits scaled
to eight. An ICC profile is left alone: the numbers in the file are the numbers the network sees.
"""

import io
import warnings
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from data.errors import ImageError

# Pillow also opens vector formats by calling Ghostscript; a photo named .jpg must never get there.
RASTER = ("AVIF", "BMP", "GIF", "JPEG", "JPEG2000", "MPO", "PNG", "PPM", "TGA", "TIFF", "WEBP")
Image.init()  # registers the plug-ins; which of them there are depends on how Pillow was built
FORMATS = tuple(name for name in RASTER if name in Image.OPEN)
# Our own list, so that a data set has the same images on every machine (MIME tables differ).
_SUFFIXES = ".avif .bmp .gif .heic .heif .jfif .jp2 .jpe .jpeg .jpg .mpo .pgm .png .ppm .tga .tif .tiff .webp"
SUFFIXES = frozenset(_SUFFIXES.split())
SIXTEEN_TO_EIGHT_BITS = 257  # 65535 / 255

# Corrupt EXIF blocks and palette transparency make Pillow warn at every image: noise here. Set once and
# for the whole process, since `warnings.catch_warnings` is not safe in threads.
warnings.filterwarnings("ignore", module=r"PIL\.")

Source = Path | str | bytes | np.ndarray


def read_image(source: Source) -> Image.Image:
    """Read one image.

    Parameters
    ----------
    source
        A path, the bytes of an image file, or a uint8 array of shape (height, width, 3).

    Returns
    -------
    PIL.Image.Image
        Mode RGB, eight bits a channel, upright. Of an animation or a document, the first frame.

    Raises
    ------
    ImageError
        The file is missing, empty, not an image of a known format, damaged, or too large to be
        decoded safely (Pillow's decompression limit stays on).
    """
    if isinstance(source, np.ndarray):
        return Image.fromarray(source)
    try:
        with _open(source) as image:
            image.load()
            return _to_rgb(ImageOps.exif_transpose(image))
    except Exception as error:  # Pillow raises whatever a decoder met: SyntaxError, struct.error, ...
        raise ImageError(f"{_name(source)}: {_reason(source, error)}") from error


def read_size(path: Path) -> tuple[int, int]:
    """Width and height of an image in pixels, from its header alone (orientation not applied).

    Raises
    ------
    ImageError
        As `read_image`, for what the header shows.
    """
    try:
        with _open(path) as image:
            return image.size
    except Exception as error:
        raise ImageError(f"{_name(path)}: {_reason(path, error)}") from error


def _open(source: Path | str | bytes) -> Image.Image:
    return Image.open(io.BytesIO(source) if isinstance(source, bytes) else source, formats=FORMATS)


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode in ("I;16", "I;16L", "I;16B", "I"):
        image = Image.fromarray((np.asarray(image).clip(0, 65535) // SIXTEEN_TO_EIGHT_BITS).astype(np.uint8))
    if image.has_transparency_data:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image)
    return image.convert("RGB")


def _name(source: Source) -> str:
    return "image bytes" if isinstance(source, bytes) else str(source)


def _reason(source: Path | str | bytes, error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "link to a missing file" if Path(source).is_symlink() else "no such file"
    if isinstance(error, IsADirectoryError):
        return "is a folder"
    if isinstance(error, PermissionError):
        return "no permission to read it"
    head = source[:32] if isinstance(source, bytes) else Path(source).read_bytes()[:32]
    if not head:
        return "empty file"
    if head[4:8] == b"ftyp" and head[8:12] in (b"heic", b"heix", b"hevc", b"mif1"):
        return "HEIC is not supported"
    if isinstance(error, Image.UnidentifiedImageError):
        return "not an image of a supported format"
    if isinstance(error, Image.DecompressionBombError):
        return "too many pixels to decode safely"
    return f"damaged ({str(error).splitlines()[0] if str(error) else type(error).__name__})"
