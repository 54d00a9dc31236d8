"""Do the classes of the two splits fit together? Train's classes rule.

notices = check_classes(root, folders, classes, valid)
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from data.counting import counted
from data.errors import DataError
from data.folder import EXPECTED

LISTED_NAMES = 5  # class names spelled out in a message


def check_classes(root: Path, folders: Sequence[str], classes: Sequence[str], valid: Sequence[Any]) -> list[str]:
    """Compare the classes of train and validation.

    Parameters
    ----------
    folders
        The class folders of train that hold image files.
    classes
        Those of them of which an image can be read: what the network learns.
    valid
        The samples of validation; each has a ``label``.

    Returns
    -------
    list of str
        What a user should hear: classes that were lost, or that validation lacks.

    Raises
    ------
    DataError
        A single class, nothing to validate on, or a class that only validation has.
    """
    if len(classes) < 2:
        expected = "expected different labels in its column" if root.is_file() else EXPECTED
        raise DataError(f"{root} has {counted(len(classes), 'class')}: a classifier needs two or more ({expected})")
    if not valid:
        raise DataError(f"{root}: no readable image to validate on")
    labels = {sample.label for sample in valid}
    if unknown := sorted(labels - set(classes)):
        raise DataError(
            f"{root}: {counted(len(unknown), 'class')} only in validation: {_names(unknown)}; add to train/ or remove"
        )
    notices = []
    if lost := sorted(set(folders) - set(classes)):
        notices.append(f"{counted(len(lost), 'class')} without a readable training image, left out: {_names(lost)}")
    if missing := sorted(set(classes) - labels):
        notices.append(f"{counted(len(missing), 'class')} without validation images: {_names(missing)}")
    return notices


def _names(classes: Sequence[str]) -> str:
    return ", ".join(classes[:LISTED_NAMES]) + (", ..." if len(classes) > LISTED_NAMES else "")
