"""The user's own network: where it is looked for, and what a wrong place is told.

python -m pytest tests/models/test_own.py
"""

import colorsys
import os
import sys

import pytest

from models.architectures import Architecture, find
from models.errors import ModelError
from models.own import load_own


@pytest.fixture
def workdir(tmp_path, monkeypatch):
    """An empty working directory that is not on sys.path; what is imported from it is forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(sys.modules[name].__spec__):
            del sys.modules[name]


def message_of(name):
    with pytest.raises(ModelError) as raised:
        load_own(name)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize("name", ["mine:", ":net", "mine.:net", "my-net:net", "a:b:c"])
def test_own_of_another_form(name):
    assert message_of(name) == f"architecture '{name}' is not of the form package.module:callable"


def test_own_is_found_in_the_working_directory(workdir):
    (workdir / "nets").mkdir()
    (workdir / "nets" / "small.py").write_text("def build(n):\n    return ['net', n]\n")
    assert find("nets.small:build") == Architecture("nets.small:build", "own")
    assert load_own("nets.small:build")(10) == ["net", 10]
    assert sys.path[-1] == os.getcwd()
    assert sys.path.count(os.getcwd()) == 1


def test_own_may_import_its_neighbour_when_called(workdir):
    (workdir / "neighbour.py").write_text("def size(n):\n    return n + 1\n")
    (workdir / "late.py").write_text("def build(n):\n    import neighbour\n    return neighbour.size(n)\n")
    assert load_own("late:build")(10) == 11


def test_own_file_does_not_hide_an_installed_module(workdir, monkeypatch):
    (workdir / "colorsys.py").write_text("raise RuntimeError('the wrong one')\n")
    monkeypatch.delitem(sys.modules, "colorsys")
    build = load_own("colorsys:rgb_to_hsv")
    assert build.__code__.co_filename == colorsys.__file__


@pytest.mark.parametrize("missing", ["nosuch", "nosuch.deeper", "json.nosuch"])
def test_own_module_not_found(workdir, missing):
    absent = "json.nosuch" if missing == "json.nosuch" else "nosuch"
    assert message_of(f"{missing}:net") == (
        f"architecture '{missing}:net': no module '{absent}' here or among the installed packages"
    )


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("raise ValueError('bad\\n  width')", "ValueError: bad width"),
        ("import nosuch", "ModuleNotFoundError: No module named 'nosuch'"),
        ("import sys; sys.exit('usage')", "SystemExit: usage"),
        ("def", "SyntaxError: invalid syntax (broken.py, line 1)"),
    ],
)
def test_own_module_that_raises(workdir, code, problem):
    (workdir / "broken.py").write_text(code)
    assert message_of("broken:net") == (f"architecture 'broken:net': importing 'broken' raised {problem}")


def test_own_attribute_missing(workdir):
    (workdir / "mine.py").write_text("def resnet(n):\n    return n\n")
    assert message_of("mine:resnt") == ("architecture 'mine:resnt': module 'mine' has no 'resnt': did you mean resnet?")
    assert message_of("mine:zzz") == "architecture 'mine:zzz': module 'mine' has no 'zzz'"


def test_own_attribute_not_callable(workdir):
    (workdir / "mine.py").write_text("net = 3\n")
    assert message_of("mine:net") == (
        "architecture 'mine:net': 'net' is of type int and cannot be called with the number of classes"
    )
