"""Which images can be held against a model: those whose class it knows, by name, in whatever Unicode form.

kept, remarks = match(samples, predictor.classes)
"""

from collections.abc import Sequence
from unicodedata import normalize

from app.errors import UsageError
from data import Sample
from data.counting import counted

LISTED = 5  # names spelled out in a line


def match(samples: Sequence[Sample], classes: Sequence[str]) -> tuple[list[Sample], list[str]]:
    """Leave out images of a class that is none of `classes`, and say so; say too which classes have no image.

    The labels of those that are kept become the model's own: macOS decomposes the accents in names of folders.

    Raises
    ------
    UsageError
        Nothing is left.
    """
    names = {_composed(name): name for name in classes} | {name: name for name in classes}
    named = [(sample, names.get(sample.label) or names.get(_composed(sample.label))) for sample in samples]
    kept = [sample._replace(label=name) for sample, name in named if name is not None]
    unknown = sorted({sample.label for sample, name in named if name is None})
    if not kept:
        raise UsageError(
            f"none of the images' classes is one of the model's: the images have {_names(unknown)}, "
            f"the model knows {_names(classes)}"
        )
    remarks = []
    if unknown:
        left_out = len(samples) - len(kept)
        remarks.append(
            f"{counted(left_out, 'image')} left out, of classes that the model does not know: {_names(unknown)}"
        )
    labels = {sample.label for sample in kept}
    if missing := [name for name in classes if name not in labels]:
        remarks.append(f"{len(missing)} of the model's {len(classes)} classes without images here: {_names(missing)}")
    return kept, remarks


def _composed(name: str) -> str:
    return normalize("NFC", name)


def _names(classes: Sequence[str]) -> str:
    more = len(classes) - LISTED
    return ", ".join(classes[:LISTED]) + (f" and {more} more" if more > 0 else "")
