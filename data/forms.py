"""The two forms in which an image is kept for training: the finished square, and the whole image at presize.

square(image, 224)                          # what validation and prediction see
presized(image, 224)                        # what random crops are taken from

Neither torch nor fastai is imported: an audit makes both from what it decodes.
"""

from PIL import Image
from PIL.Image import Resampling

RULES = 1  # raise it with every change of what the functions below return
# A crop of the whole shorter side is reduced by an eighth then, and one of half the area enlarged by a quarter.
# fastai's own recipe for validation, a margin of 14%, is the same number.
PRESIZE = 8 / 7
REDUCING_GAP = 3.0  # Pillow: at 3 it cannot be told from the exact result, and large images are several times quicker


def square(image: Image.Image, size: int) -> Image.Image:
    """The middle of `image`, as fastai's ``Resize(size)`` makes it in validation, to the last bit.

    Parameters
    ----------
    image
        Mode RGB.
    size
        Side in pixels.
    """
    width, height = image.size
    # fastai's arithmetic, which may lose a pixel to rounding: kept, so that nothing differs from it.
    side = int(min(width / size, height / size) * size)
    left, top = int(0.5 * (width - side)), int(0.5 * (height - side))
    return image.crop((left, top, left + side, top + side)).resize((size, size), Resampling.BILINEAR)


def presized(image: Image.Image, size: int) -> Image.Image:
    """`image` whole, its shorter side `PRESIZE` times `size`, or as it is where it is smaller."""
    shorter, target = min(image.size), round(PRESIZE * size)
    if shorter <= target:
        return image
    width, height = (max(1, round(side * target / shorter)) for side in image.size)
    return image.resize((width, height), Resampling.BILINEAR, reducing_gap=REDUCING_GAP)
