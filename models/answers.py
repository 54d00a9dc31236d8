"""What a network that came from a file says of images: numbers, as many as there are classes, or one line.

logits = answer(Path("model.pkl"), run, images, classes=3)

Its layers and weights may be anything that a damaged file, or one of another program, has in their places.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from models.errors import ModelError, reason_of

AGAIN = "export the model again"
OF_THE_MACHINE = ("memory", "exhausted")  # what such errors speak of: no fault of the file


def answer(source: Path | None, run: Callable[[Sequence[Any]], Any], images: Sequence[Any], classes: int) -> Any:
    """``run(images)``: an array or a tensor (len(images), classes), all finite.

    Raises
    ------
    ModelError
        The network fails, gives another shape, or what is no number; the message names `source`.
    """
    name = source or "the model"
    try:
        logits = run(images)
    except Exception as error:
        reason = reason_of(error, 160)
        if any(sign in reason.lower() for sign in OF_THE_MACHINE):
            raise
        raise ModelError(f"{name} cannot be run ({type(error).__name__}: {reason}): {AGAIN}") from error
    if tuple(logits.shape) != (len(images), classes):
        raise ModelError(f"{name} answers {len(images)} x {classes} by {tuple(logits.shape)} values: {AGAIN}")
    if not all(math.isfinite(value) for value in (logits.max(), logits.min())):  # either is NaN where one of all is
        raise ModelError(f"{name} answers with what is no number, its weights are damaged: {AGAIN}")
    return logits
