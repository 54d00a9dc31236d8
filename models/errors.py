"""What `models/` raises when a request cannot be met and the user can do something about it.

raise ModelError(f"unknown architecture 'resnt18'{did_you_mean('resnt18', names)}")
"""

import os
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from reprlib import Repr
from typing import Any

_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = 80  # characters; a name of timm's has 50


class ModelError(ValueError):
    """A model that cannot be had as asked.

    The message is one line for the user: what is wrong, and the way out. Commands print it
    without a traceback, so it must stand alone.
    """


class Refused(ModelError):
    """A file that asks for code to be run; the message names it."""


def brief(value: Any) -> str:
    """What a file holds, as a message may repeat it: on one line, and cut in the middle where it is long."""
    return _SHORT.repr(value)


def reason_of(error: BaseException, most: int | None = 120) -> str:
    """The message of another program's `error` on one line, of at most so many characters; None is for all."""
    return " ".join(str(error).split())[:most]


def is_utf8(path: Path) -> bool:
    """Whether safetensors and onnxruntime can open a file of that name; the system allows any bytes."""
    return os.fsencode(path).decode("utf-8", "ignore") == str(path)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`: did you mean a, b, c?` with at most three of `known`, or nothing when none is close."""
    close = get_close_matches(word, known)
    return f": did you mean {', '.join(close)}?" if close else ""
