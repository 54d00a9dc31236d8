"""What fastai's ``Resize`` makes of an image in validation, pixel for pixel, with Pillow alone.

image = resized(image, (224, 224))          # centre crop to the shape of the result, then bilinear
"""

import numpy as np
from PIL import Image

METHODS = ("crop", "squish", "pad")
PADDING = {"zeros": "constant", "border": "edge", "reflection": "reflect"}  # fastai's names, NumPy's


def resized(
    image: Image.Image, size: tuple[int, int], method: str = "crop", padding: str = "reflection"
) -> Image.Image:
    """Resize an RGB image to `size`, (width, height) in pixels; an image of that size is returned as it is.

    Parameters
    ----------
    method
        ``crop`` the middle, ``squish`` regardless of the shape, or ``pad`` to the shape.
    padding
        Of ``pad``: ``reflection``, ``border`` (its last pixels repeated) or ``zeros``.

    Notes
    -----
    After ``fastai.vision.augment.Resize`` and ``_do_crop_pad`` (fastai 2.8), their rounding included.
    """
    if image.size == size:
        return image
    if method == "squish":
        return image.resize(size, Image.Resampling.BILINEAR)
    width, height = image.size
    across, down = width / size[0], height / size[1]
    scale = max(across, down) if method == "pad" else min(across, down)
    wanted = int(scale * size[0]), int(scale * size[1])
    left, top = int(0.5 * (width - wanted[0])), int(0.5 * (height - wanted[1]))
    image = image.crop((max(left, 0), max(top, 0), min(left + wanted[0], width), min(top + wanted[1], height)))
    before = max(-left, 0), max(-top, 0)
    after = max(wanted[0] - width + left, 0), max(wanted[1] - height + top, 0)
    if any(before + after):
        sides = ((before[1], after[1]), (before[0], after[0]), (0, 0))
        image = Image.fromarray(np.pad(np.asarray(image), sides, mode=PADDING[padding]))
    return image.resize(size, Image.Resampling.BILINEAR)
