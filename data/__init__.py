"""From a path or a name to fastai ``DataLoaders``.

    scan = data.scan("photos/")                 # what is there; imports neither torch nor fastai
    loaders = data.loaders(scan, spec)          # fastai DataLoaders for what the model wants

Beside the code, ``data/train`` and ``data/valid`` hold the sample data set (see ``data/README.md``).
"""

from typing import Any

from data.balance import class_weights
from data.errors import DataError, ImageError
from data.reader import read_image
from data.scan import Sample, Scan, scan

__all__ = ["DataError", "ImageError", "Sample", "Scan", "class_weights", "loaders", "read_image", "scan"]


def __getattr__(name: str) -> Any:
    # `loaders` needs fastai, which takes seconds to import: only when it is asked for.
    if name == "loaders":
        from data.dataloaders import loaders

        return loaders
    raise AttributeError(f"module 'data' has no attribute {name!r}")
