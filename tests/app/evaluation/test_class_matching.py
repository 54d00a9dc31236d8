"""Images are held against a model by the names of their classes.

python -m pytest tests/app/evaluation/test_class_matching.py
"""

import pytest

from app.errors import UsageError
from app.evaluation.class_matching import match
from data import Sample


def samples(*labels):
    return [Sample(None, label) for label in labels]


def test_all_are_known():
    assert match(samples("b", "a"), ["a", "b"]) == (samples("b", "a"), [])


def test_some_are_unknown_and_some_missing():
    kept, remarks = match(samples("a", "x", "x", "y"), list("abcdefgh"))
    assert kept == samples("a")
    assert remarks == [
        "3 images left out, of classes that the model does not know: x, y",
        "7 of the model's 8 classes without images here: b, c, d, e, f and 2 more",
    ]


def test_unicode_forms():
    """The same name exactly, if there is one; else in another form."""
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    assert match(samples(decomposed), [composed, "b"])[0] == samples(composed)
    assert match(samples(composed), [decomposed, "b"])[0] == samples(decomposed)
    assert match(samples(decomposed, composed), [composed, decomposed]) == (samples(decomposed, composed), [])


def test_none_is_known():
    with pytest.raises(UsageError) as caught:
        match(samples("x"), ["a", "b"])
    said = "none of the images' classes is one of the model's: the images have x, the model knows a, b"
    assert str(caught.value) == said
