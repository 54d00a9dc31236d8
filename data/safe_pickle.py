"""Read a pickle that may hold containers, text, numbers and NumPy arrays of numbers, nothing else.

    from data.safe_pickle import load_pickle
    batch = load_pickle(path.read_bytes(), source=str(path))

A pickle is a program: it names functions, and loading it calls them. Here each name it asks for is
looked up in one short table of exact ``(module, name)`` pairs, before anything is called.
"""

import io
import pickle
from collections.abc import Callable

import numpy as np

from data.errors import DataError


def _number_dtype(code: str, *flags: bool) -> np.dtype:
    """``numpy.dtype`` for plain numbers: an object dtype would hold pointers, not values."""
    dtype = np.dtype(code, *flags)
    if dtype.kind not in "biuf":
        raise pickle.UnpicklingError(f"an array of {dtype}, not of numbers")
    return dtype


def _latin1_bytes(text: str, encoding: str) -> bytes:
    """``_codecs.encode`` for what protocol 2 writes `bytes` as; another codec could be any code."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"bytes in the encoding {encoding!r}")
    return text.encode("latin1")


# NumPy moved these two from numpy.core to numpy._core in 2.0, and both names are in use in files.
# Taken from what NumPy itself would pickle, they need no import of either private module.
_reconstruct = np.empty(0).__reduce__()[0]
_scalar = np.int64(0).__reduce__()[0]

ALLOWED: dict[tuple[str, str], Callable] = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): _number_dtype,
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy.core.multiarray", "scalar"): _scalar,
    ("numpy._core.multiarray", "scalar"): _scalar,
    ("_codecs", "encode"): _latin1_bytes,
}


class _TableUnpickler(pickle.Unpickler):
    """An unpickler that finds a global in `ALLOWED`, or raises `DataError` with its name."""

    def __init__(self, blob: bytes, source: str) -> None:
        # latin1: text from Python 2, and the arrays of that time, whose bytes were text.
        super().__init__(io.BytesIO(blob), encoding="latin1")
        self.source = source

    def find_class(self, module: str, name: str) -> Callable:
        if (module, name) not in ALLOWED:
            raise DataError(
                f"{self.source}: refused, this pickle asks for {module}.{name}, "
                "which data does not need; get the file from a source you trust"
            )
        return ALLOWED[module, name]


def load_pickle(blob: bytes, source: str) -> object:
    """Return what a pickle of plain data holds, running nothing outside `ALLOWED`.

    Parameters
    ----------
    blob : bytes
        The whole pickle, any protocol. `str` objects of Python 2 are read as latin1 text.
    source : str
        What to call it in an error: the path of its file.

    Returns
    -------
    object
        Built of dict, list, tuple, set, str, bytes, numbers, None and arrays of numbers.

    Raises
    ------
    DataError
        When it asks for any other global, which is named and not run, or is damaged.

    Notes
    -----
    After "Restricting Globals" in the documentation of Python's `pickle`.
    """
    try:
        return _TableUnpickler(blob, source).load()
    except DataError:
        raise
    except Exception as error:  # a damaged pickle is a random program: it can raise anything
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise DataError(f"{source}: not a readable pickle ({reason}); get the file again") from error
