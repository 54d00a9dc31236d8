"""The flags of what is done to images on their way to the network; `app.input_pipeline` carries them out.

add_input(parser.add_argument_group("images"))
"""

import argparse
from typing import Any

from app.argument_types import within

# fastai scales a lighting of 0.2 and a warp of 0.2 by it: at 5 the one is log(0), the other folds the image up.
MOST_AUGMENTATION = 4.9


def add_input(group: Any) -> None:
    """Add the flags to a parser, or to a group of it."""
    add = group.add_argument
    add(
        "--aug",
        choices=("auto", "crop", "fastai", "device", "pad", "airbench94", "airbench95", "airbench96"),
        default="auto",
        help="augmentation: random resized crops, or fastai's aug_transforms (default: by the images' size); "
        "zoom, crop, flip and light on the device; or, for small images, shifts and flips as usual for CIFAR-10, or as "
        "of --recipe speed",
    )
    add(
        "--aug-mult",
        type=within(float, 0, MOST_AUGMENTATION),
        default=1.0,
        metavar="X",
        help=f"its strength, 0 for none, at most {MOST_AUGMENTATION}",
    )
    add(
        "--flip",
        action=argparse.BooleanOptionalAction,
        help="mirror half of the training images (default: unless every class is a single letter or digit)",
    )
    add(
        "--cache",
        default="auto",
        metavar="DIR",
        help="where decoded images are kept: a folder, 'auto' for the user's cache folder, or 'off'",
    )
