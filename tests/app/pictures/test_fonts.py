"""Names in any script are drawn with whatever fonts there are: python -m pytest tests/app/pictures/test_fonts.py

A font of one letter, made here, stands for those that a machine may have or not.
"""

import sys

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib import font_manager
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager, get_font

from app.pictures.fonts import lend_fonts
from app.pictures.saving import save

FAMILY = "One Letter"
PRIVATE = "\U0010f123"  # a letter of no script, which no font here has but ours


@pytest.fixture
def font_file(tmp_path):
    """A font whose only letter is `PRIVATE`, a square."""
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    for corner in ((0, 900), (900, 900), (900, 0)):
        pen.lineTo(corner)
    pen.closePath()
    square = pen.glyph()
    font = FontBuilder(1000, isTTF=True)
    font.setupGlyphOrder([".notdef", "square"])
    font.setupCharacterMap({ord(PRIVATE): "square"})
    font.setupGlyf({".notdef": square, "square": square})
    font.setupHorizontalMetrics({".notdef": (1000, 0), "square": (1000, 0)})
    font.setupHorizontalHeader(ascent=900, descent=-100)
    font.setupNameTable({"familyName": FAMILY, "styleName": "Regular"})
    font.setupOS2(usWeightClass=400)
    font.setupPost()
    path = tmp_path / "fonts" / "one.ttf"
    path.parent.mkdir()
    font.save(path)
    return path


def titled(text):
    figure = Figure()
    return figure, figure.subplots().set_title(text)


@pytest.mark.parametrize("name", ["ants", "Größe", "كلب", "cat\u200d", "Ω ✓ ✗"])
def test_the_usual_font_is_kept_where_it_is_enough(name, known_fonts, capsys):
    figure, title = titled(name)
    usual = title.get_fontfamily()
    lend_fonts(figure)
    assert title.get_fontfamily() == usual
    assert capsys.readouterr().err == ""


def test_what_no_font_has_is_warned_of_once(known_fonts, capsys, tmp_path):
    for name in ("one", "two"):
        figure, _ = titled(f"cat {PRIVATE}")
        assert save(figure, tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().err == (
        "warning: letters that no installed font has are squares in the pictures: "
        "install fonts-noto-core (of Debian and Ubuntu)\n"
    )


def test_an_installed_font_is_lent_to_the_texts_that_need_it(known_fonts, font_file, capsys):
    fontManager.addfont(font_file)
    figure, title = titled(f"cat {PRIVATE}")
    label = figure.axes[0].set_xlabel("plain")
    usual = label.get_fontfamily()
    lend_fonts(figure)
    assert (title.get_fontfamily(), label.get_fontfamily()) == ([*usual, FAMILY], usual)
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(sys.platform != "linux", reason="fonts lie elsewhere")
def test_a_font_that_was_installed_later_is_found(known_fonts, font_file, monkeypatch):
    """matplotlib keeps its list of fonts on the disk, and does not look again."""
    monkeypatch.setattr(font_manager, "X11FontDirectories", [font_file.parent])
    figure, title = titled(PRIVATE)
    lend_fonts(figure)
    assert title.get_fontfamily()[-1] == FAMILY


@pytest.mark.parametrize(
    ("letter", "package"),
    [
        ("猫", "fonts-noto-cjk"),
        ("ひ", "fonts-noto-cjk"),
        ("한", "fonts-noto-cjk"),
        ("🐶", "fonts-symbola"),
        ("ह", "fonts-noto-core"),
    ],
)
def test_a_letter_is_drawn_or_its_package_named(letter, package, known_fonts, capsys):
    figure, title = titled(f"cat {letter}")
    lend_fonts(figure)
    said = capsys.readouterr().err
    if said:
        assert f"install {package} (" in said
        return
    *_, family = title.get_fontfamily()
    (file, *_) = (entry.fname for entry in fontManager.ttflist if entry.name == family)
    assert get_font(file).get_char_index(ord(letter))
