"""Texts as a terminal shows them and a shell takes them: columns below each other, names as words to be pasted.

left("猫", 5)                                # two columns wide, so three spaces follow
shell_word(Path("a b.jpg"))                 # 'a b.jpg'
"""

import os
import shlex
from pathlib import Path
from unicodedata import category, east_asian_width

JOINER = "\u200d"  # what follows it is drawn into what stands before


def columns(text: str) -> int:
    """How wide a terminal shows `text`: Chinese letters and emoji take two columns, accents and marks none.

    The rule of POSIX's ``wcwidth``, as Markus Kuhn and the package of that name have it.
    """
    shown = (letter for before, letter in zip(" " + text, text) if before != JOINER)
    return sum(
        0 if category(letter) in ("Mn", "Me", "Cf") else 2 if east_asian_width(letter) in "WF" else 1
        for letter in shown
    )


def left(text: str, width: int) -> str:
    """`text`, with spaces after it, `width` columns wide."""
    return text + " " * (width - columns(text))


def right(text: str, width: int) -> str:
    """`text`, with spaces before it, `width` columns wide."""
    return " " * (width - columns(text)) + text


def shell_word(text: str | Path) -> str:
    """`text` as one word of a POSIX shell; bytes that are no Unicode, and what moves the cursor, as ``$'\\377'``."""
    text = str(text)
    if text.isprintable():
        return shlex.quote(text)
    return "$'" + "".join(_escaped(letter) for letter in text) + "'"


def _escaped(letter: str) -> str:
    if letter in "\\'":
        return "\\" + letter
    if letter.isprintable():
        return letter
    # Octal: of a hexadecimal escape, a digit that follows would be a part in some shells.
    return "".join(f"\\{byte:03o}" for byte in os.fsencode(letter))
