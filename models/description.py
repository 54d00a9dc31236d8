"""What a ``model.json`` must say before it is believed.

facts = parse(Path("model.json"))           # raises ModelError, or all that prediction needs is there
wrong = unsound(facts)                      # "" when nothing is
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from models.errors import ModelError, brief, reason_of
from models.resizing import METHODS, PADDING

FORMAT, VERSION = "fastsight", 1
LARGEST_SIDE = 4096  # px, of --img-size too: larger ones take gigabytes for a single image
LARGEST_NUMBER, SMALLEST_SCALE = 1e6, 1e-6  # of statistics and temperatures; beyond them float32 says nothing
LARGEST = 2**24  # bytes of a JSON file; ten thousand classes have a fiftieth
KINDS = {
    "classes": list,
    "image_size": (int, list),
    "resize": str,
    "mean": list,
    "std": list,
    "architecture": str,
    "family": str,
    "structure": dict,
    "sha256": dict,
}
PREDICTION, REBUILDING = list(KINDS)[:5], list(KINDS)[5:]


def parse(path: Path) -> dict[str, Any]:
    """The content of a JSON file of ours.

    Raises
    ------
    ModelError
        There is none, or it is not one; the message says what is wrong.
    """
    if not path.is_file():
        raise ModelError(f"{path} is missing: it belongs to the weights, keep the two together")
    try:
        if path.stat().st_size > LARGEST:
            raise ValueError("too large")
        facts = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path} cannot be read ({reason_of(error)}): export it again") from error
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise ModelError(f"{path} describes no model of ours: give the model.json that app.train wrote")
    version = facts.get("version")
    if type(version) is not int or version != VERSION:
        raise ModelError(
            f"{path} has version {brief(version)} of the format, this program knows {VERSION}: "
            "export the model again, or take the fastsight that wrote it"
        )
    if wrong := unsound(facts, [*PREDICTION, *REBUILDING]):
        raise ModelError(f"{path} is damaged ({wrong}): export the model again")
    return facts


def unsound(facts: Any, needed: Iterable[str] = PREDICTION) -> str:
    """What is wrong with a description in which the keys of `needed` must be, or nothing."""
    if not isinstance(facts, dict):
        return "no description"
    wrong = [key for key in needed if not isinstance(facts.get(key), KINDS[key])]
    return ", ".join(wrong) or ("" if _has_sound_values(facts) else "values out of range")


def _has_sound_values(facts: dict[str, Any]) -> bool:
    classes, size, mean, std = (facts[key] for key in ("classes", "image_size", "mean", "std"))
    sides = size if isinstance(size, list) else [size, size]
    padding = facts.get("padding", "reflection")
    return (
        len(classes) > 0
        and all(isinstance(name, str) for name in classes)
        and len(set(classes)) == len(classes)
        and len(sides) == 2
        and all(type(side) is int and 0 < side <= LARGEST_SIDE for side in sides)
        and len(mean) == len(std) == 3
        and all(_is_number(value) for value in mean)
        and all(_is_scale(value) for value in [*std, facts.get("temperature", 1.0)])
        and facts["resize"] in METHODS
        and isinstance(padding, str)
        and padding in PADDING
    )


def _is_number(value: Any) -> bool:
    """Whether a float32 holds `value` and what is computed with it; JSON has ``true``, ``NaN`` and any digits."""
    return type(value) in (int, float) and -LARGEST_NUMBER <= value <= LARGEST_NUMBER


def _is_scale(value: Any) -> bool:
    return _is_number(value) and value >= SMALLEST_SCALE
