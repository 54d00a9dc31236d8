"""How wide texts are on a terminal, and that a shell gives back the words made for it.

python -m pytest tests/app/test_terminal.py
"""

import os
import subprocess

import pytest

from app.terminal import columns, left, right, shell_word


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("cat", 3),
        ("猫", 2),
        ("e\u0301", 1),
        ("🐈", 2),
        ("👨\u200d👩\u200d👧", 2),
        ("قطة", 3),
        ("ﾈｺ", 2),
        ("❤\ufe0f", 1),
    ],
)
def test_how_wide_a_text_is(text, width):
    assert columns(text) == width
    assert columns(left(text, 5)) == columns(right(text, 5)) == 5


@pytest.mark.parametrize(
    ("name", "word"),
    [
        (b"a.jpg", "a.jpg"),
        (b"a b.jpg", "'a b.jpg'"),
        ("猫.jpg".encode(), "'猫.jpg'"),
        (b"\xff1'2\\3.jpg", "$'\\3771\\'2\\\\3.jpg'"),
        (b"a\nb\x1b[31m", "$'a\\012b\\033[31m'"),
    ],
)
def test_a_word_for_the_shell_comes_back_as_it_was(name, word):
    assert shell_word(os.fsdecode(name)) == word
    shown = subprocess.run(["bash", "-c", f"printf %s {word}"], capture_output=True, check=True)
    assert shown.stdout == name
