"""A pickle of plain data loads; one that names anything else is refused before it is called.

python -m pytest tests/data/test_safe_pickle.py
"""

import pickle

import numpy as np
import pytest

from data.errors import DataError
from data.safe_pickle import load_pickle


def message(blob: bytes) -> str:
    with pytest.raises(DataError) as caught:
        load_pickle(blob, "batch")
    return str(caught.value)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_containers_text_bytes_and_numbers_come_back(protocol):
    content = {"names": ["a", "b"], b"raw": b"\xff\0", "one": (1, 2.5, None, True)}
    assert load_pickle(pickle.dumps(content, protocol), "batch") == content


def test_arrays_and_scalars_of_numbers_come_back():
    content = [np.arange(6, dtype=np.uint8).reshape(2, 3), np.int64(7)]
    array, scalar = load_pickle(pickle.dumps(content, 2), "batch")
    assert array.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (array.dtype, scalar) == (np.uint8, 7)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (b"cbuiltins\neval\n", "builtins.eval"),
        (b"\x8c\x05numpy\x8c\x08core.sum\x93", "numpy.core.sum"),
        (b"c_codecs\ndecode\n", "_codecs.decode"),
    ],
)
def test_only_exact_names_are_allowed(call, name):
    assert message(b"\x80\x04" + call + b"X\x01\x00\x00\x001\x85R.") == (
        f"batch: refused, this pickle asks for {name}, which data does not need; get the file from a source you trust"
    )


def test_arrays_of_objects_and_other_codecs_are_refused():
    assert "an array of object, not of numbers" in message(pickle.dumps(np.array([None]), 2))
    hex_codec = b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x001X\x03\x00\x00\x00hex\x86R."
    assert "bytes in the encoding 'hex'" in message(hex_codec)


@pytest.mark.parametrize("blob", [b"", b"not a pickle", b"\x80\x02}(U\x04da"])
def test_a_damaged_pickle_is_an_error_of_one_line(blob):
    text = message(blob)
    assert text.startswith("batch: not a readable pickle (")
    assert "\n" not in text
