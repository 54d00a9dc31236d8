"""From whatever Pillow decoded to what a viewer shows: RGB, eight bits a channel, on white, upright.

    with Image.open("scan.tif") as image:
        image.load()
        shown = to_rgb(image)                   # PIL.Image, mode RGB

Pillow's own ``convert("RGB")`` cuts deeper pixels off at 255, so that a 16-bit scan comes out white.
"""

from contextlib import suppress

import numpy as np
from PIL import ExifTags, Image
from PIL.Image import Transpose
from PIL.TiffImagePlugin import BITSPERSAMPLE, PHOTOMETRIC_INTERPRETATION, SAMPLEFORMAT

SIGNED, WHITE_IS_ZERO = 2, 0  # values of the TIFF tags SampleFormat and PhotometricInterpretation
EIGHT_BITS, SIXTEEN_BITS = 2**8 - 1, 2**16 - 1

# What undoes each EXIF orientation. `ImageOps.exif_transpose` also rewrites the EXIF block, and fails on
# a good photo whose maker left nonsense there.
UPRIGHT = {
    2: Transpose.FLIP_LEFT_RIGHT,
    3: Transpose.ROTATE_180,
    4: Transpose.FLIP_TOP_BOTTOM,
    5: Transpose.TRANSPOSE,
    6: Transpose.ROTATE_270,
    7: Transpose.TRANSVERSE,
    8: Transpose.ROTATE_90,
}


class PixelError(ValueError):
    """The pixels have no known black and white; the message gives their range."""


def to_rgb(image: Image.Image) -> Image.Image:
    """Convert a loaded image of any mode.

    Returns
    -------
    PIL.Image.Image
        Mode RGB, a new image without metadata: a tag that stayed would turn it a second time.

    Raises
    ------
    PixelError
        Floats that lie neither in [0, 1] nor in [0, 255], or integers beyond sixteen bits.
    """
    turn = UPRIGHT.get(_orientation(image))
    if image.mode == "F" or image.mode.startswith("I"):
        image = _eight_bits(image)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    rgb = image.convert("RGB")
    rgb.info.clear()
    return rgb if turn is None else rgb.transpose(turn)


def _orientation(image: Image.Image) -> int:
    with suppress(Exception):  # Pillow raises SyntaxError, struct.error, ... on a broken EXIF block
        return image.getexif().get(ExifTags.Base.Orientation, 1)
    return 1


def _eight_bits(image: Image.Image) -> Image.Image:
    """Scale grey pixels of sixteen bits, of more, or of floats, by the white that their file format states."""
    values = np.asarray(image)
    low, high = values.min(), values.max()
    whites = _possible_whites(image)
    white = next((white for white in whites if low >= 0 and high <= white), None)
    if white is None:  # NaN too, which compares as false
        expected = " or ".join(f"0 to {white}" for white in whites)
        raise PixelError(f"pixel values from {low:g} to {high:g}, expected {expected}")
    scaled = np.rint(values * np.float32(EIGHT_BITS / white)).astype(np.uint8)
    if getattr(image, "tag_v2", {}).get(PHOTOMETRIC_INTERPRETATION) == WHITE_IS_ZERO:
        scaled = EIGHT_BITS - scaled  # Pillow does so itself, but for eight bits only
    if image.mode.startswith("I") and "transparency" in image.info:  # a PNG's one transparent grey: white here
        scaled[values == image.info["transparency"]] = EIGHT_BITS
    return Image.fromarray(scaled)


def _possible_whites(image: Image.Image) -> tuple[int, ...]:
    """The values that may stand for white, smallest first: the first that covers the pixels is the one."""
    if image.mode == "F":
        return 1, EIGHT_BITS
    tags = getattr(image, "tag_v2", {})  # TIFF alone says how deep its pixels are
    bits = tags.get(BITSPERSAMPLE, (16,))[0]
    if bits > 16:  # no file holds 32-bit greys: they are smaller ones that some program widened
        return EIGHT_BITS, SIXTEEN_BITS
    signed = tags.get(SAMPLEFORMAT, (1,))[0] == SIGNED
    return (2 ** (bits - signed) - 1,)
