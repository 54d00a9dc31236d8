"""Fonts for names in any script: where the usual one lacks a letter, an installed one that has it.

lend_fonts(figure)
figure.savefig("sheet.png")

Arabic, Hebrew and Indic scripts have their letters; that these join and run from right to left is matplotlib's work,
which it does from 3.11 on. It draws no colour emoji: those come from fonts of outlines.
"""

import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache

from matplotlib.figure import Figure
from matplotlib.font_manager import FontEntry, FontProperties, findfont, findSystemFonts, fontManager, get_font
from matplotlib.ft2font import FT2Font
from matplotlib.text import Text

from app.report import warn

REGULAR = 400  # weight
LAST_RESORT = "Last Resort"  # a font of matplotlib's, with a box for every letter there is
INVISIBLE = {"Cc", "Cf", "Cs", "Mn", "Zl", "Zp", "Zs"}  # categories of Unicode: joiners, marks, spaces
EAST_ASIAN = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO")  # how the names of their letters begin
SYMBOLS = "So"

_warned: set[str] = set()  # packages


def lend_fonts(figure: Figure) -> None:
    """Give the texts of `figure` installed fonts for the letters that matplotlib's usual font lacks.

    What no font has stays an empty square; a warning says, once in a process, which package would help.
    """
    usual = get_font(findfont(FontProperties()))
    texts: dict[Text, set[str]] = {}
    for text in figure.findobj(Text):
        lacking = {letter for letter in text.get_text() if not letter.isascii() and _is_lacking(letter, usual)}
        if lacking:
            texts[text] = lacking
    if not texts:
        return
    families = _families(set().union(*texts.values()))
    for text, lacking in texts.items():
        found = {families[letter] for letter in lacking if letter in families}
        text.set_fontfamily([*text.get_fontfamily(), *sorted(found.difference(text.get_fontfamily()))])
    packages = {_package(letter) for lacking in texts.values() for letter in lacking - families.keys()} - _warned
    if packages:
        _warned.update(packages)
        names = " and ".join(sorted(packages))
        warn(f"letters that no installed font has are squares in the pictures: install {names} (of Debian and Ubuntu)")


@contextmanager
def without_warnings() -> Iterator[None]:
    """Let matplotlib draw empty squares without a word of its own about each."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def _is_lacking(letter: str, font: FT2Font) -> bool:
    return unicodedata.category(letter) not in INVISIBLE and not font.get_char_index(ord(letter))


def _families(letters: set[str]) -> dict[str, str]:
    """The name of a font for each letter that any has."""
    families: dict[str, str] = {}
    for fonts in (_regular, _regular_and_new):
        for entry in fonts() if letters else ():
            font = FT2Font(entry.fname)
            found = {letter for letter in letters if font.get_char_index(ord(letter))}
            families |= dict.fromkeys(found, entry.name)
            letters = letters - found
    return families


def _regular() -> Iterable[FontEntry]:
    """The first faces of all regular fonts that matplotlib knows, those without serifs first."""
    known = {
        entry.name: entry
        for entry in fontManager.ttflist
        if (entry.style, entry.weight) == ("normal", REGULAR)
        and not getattr(entry, "index", 0)
        and not entry.name.startswith(LAST_RESORT)
    }
    return sorted(known.values(), key=lambda entry: ("Sans" not in entry.name, entry.name))


@cache
def _regular_and_new() -> Iterable[FontEntry]:
    """With those that were installed since matplotlib has made its list, which it keeps on the disk."""
    known = {entry.fname for entry in fontManager.ttflist}
    for path in findSystemFonts():
        if path not in known:
            with suppress(Exception):  # no font, or one of pictures
                fontManager.addfont(path)
    return _regular()


def _package(letter: str) -> str:
    if unicodedata.name(letter, "").startswith(EAST_ASIAN):
        return "fonts-noto-cjk"
    return "fonts-symbola" if unicodedata.category(letter) == SYMBOLS else "fonts-noto-core"
