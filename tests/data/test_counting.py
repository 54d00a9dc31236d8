"""Singular and plural, and that no line for the user leaves it open which.

python -m pytest tests/data/test_counting.py
"""

import re
from pathlib import Path

import pytest

import data
from data.counting import counted


@pytest.mark.parametrize(
    ("count", "noun", "words"),
    [
        (1, "image", "1 image"),
        (0, "image", "0 images"),
        (2, "training image", "2 training images"),
        (2, "class", "2 classes"),
    ],
)
def test_words_for_a_count(count, noun, words):
    assert counted(count, noun) == words


def test_no_line_leaves_it_open():
    root = Path(data.__file__).parents[1]
    files = [path for folder in ("app", "data", "models", "callbacks") for path in (root / folder).rglob("*.py")]
    assert len(files) > 100
    assert [path for path in files if re.search(r"\}[^\"]* \w+\((e?s)\)", path.read_text(encoding="utf-8"))] == []
