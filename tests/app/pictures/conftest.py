"""Fonts that a machine may have, for the tests of pictures."""

from pathlib import Path

import matplotlib
import pytest
from matplotlib.font_manager import fontManager

from app.pictures import fonts


@pytest.fixture
def known_fonts(monkeypatch):
    """matplotlib's list of fonts, restored afterwards; nothing has been warned of."""
    monkeypatch.setattr(fontManager, "ttflist", list(fontManager.ttflist))
    monkeypatch.setattr(fonts, "_warned", set())
    fonts._regular_and_new.cache_clear()
    yield
    fonts._regular_and_new.cache_clear()


@pytest.fixture(params=["installed", "none but matplotlib's"])
def each_machines_fonts(request, known_fonts, monkeypatch):
    """This machine's fonts, then those of a machine where none is installed."""
    if request.param == "installed":
        return
    own = Path(matplotlib.get_data_path())
    monkeypatch.setattr(
        fontManager, "ttflist", [entry for entry in fontManager.ttflist if own in Path(entry.fname).parents]
    )
    monkeypatch.setattr(fonts, "findSystemFonts", lambda: [])
