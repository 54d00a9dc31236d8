"""Imports in the background: python -m pytest tests/app/test_importing_ahead.py"""

import sys
import threading

import pytest

from app.importing_ahead import importing_ahead


def settled():
    for thread in threading.enumerate():
        if thread.name.startswith("import "):
            thread.join()


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "heavy_module.py").write_text("value = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "heavy_module"
    sys.modules.pop("heavy_module", None)


def test_it_begins_with_the_first_work(module):
    calls = []
    progress = importing_ahead(module, lambda *call: calls.append(call))
    progress(0, 2)
    settled()
    assert sys.modules[module].value == 3
    progress(2, 2)
    assert calls == [(0, 2), (2, 2)]


def test_nothing_is_imported_where_nothing_is_left(module):
    importing_ahead(module, None)(5, 5)
    settled()
    assert module not in sys.modules


def test_what_fails_is_raised_by_the_import_that_follows(module, tmp_path, capsys):
    (tmp_path / "heavy_module.py").write_text("raise OSError('broken')\n")
    importing_ahead(module, None)(0, 1)
    settled()
    assert capsys.readouterr() == ("", "")
    with pytest.raises(OSError, match=r"^broken$"):
        __import__(module)
