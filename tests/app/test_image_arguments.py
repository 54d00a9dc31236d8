"""From the words on a command line to images.

python -m pytest tests/app/test_image_arguments.py
"""

import io
import sys
from pathlib import Path

import pytest

from app.errors import UsageError
from app.image_arguments import collect


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """Empty files in an otherwise empty working directory: nothing is opened when they are collected."""
    monkeypatch.chdir(tmp_path)
    for name in ("b.jpg", "a.PNG", "notes.txt", "deep/er/c.webp", ".hidden/d.jpg", "none/x.txt", "odd[1].jpg"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()


def stdin(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def names(arguments, **options):
    return [name for name, _ in collect(arguments, **options)]


def message_of(arguments, **options):
    with pytest.raises(UsageError) as raised:
        collect(arguments, **options)
    return str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["b.jpg", "notes.txt", "missing.jpg"], ["b.jpg", "notes.txt", "missing.jpg"]),
        (["deep"], ["deep/er/c.webp"]),
        (["."], ["a.PNG", "b.jpg", "deep/er/c.webp", "odd[1].jpg"]),
        (["*.jpg"], ["b.jpg", "odd[1].jpg"]),
        (["**/*.webp"], ["deep/er/c.webp"]),
        (["odd[1].jpg"], ["odd[1].jpg"]),
        (["b.jpg", "b.jpg"], ["b.jpg", "b.jpg"]),
    ],
)
def test_files_folders_and_globs(photos, arguments, expected):
    assert names(arguments) == expected
    assert [source for _, source in collect(arguments)] == [Path(name) for name in expected]


def test_bytes_of_standard_input(monkeypatch):
    stdin(monkeypatch, b"\xff\xd8")
    assert collect(["-"]) == [("-", b"\xff\xd8")]


def test_a_list_on_standard_input(photos, monkeypatch):
    stdin(monkeypatch, b"b.jpg\n\nwith space.jpg\r\n")
    assert names(["-"], listed=True) == ["b.jpg", "with space.jpg"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none"], "none: no images in this folder"),
        (["*.gif"], "*.gif: no file matches"),
        (["-"], "-: standard input is empty, expected the bytes of an image"),
    ],
)
def test_nothing_to_predict(photos, monkeypatch, arguments, message):
    stdin(monkeypatch, b"")
    assert message_of(arguments) == message


def test_an_empty_list(monkeypatch):
    stdin(monkeypatch, b"\n")
    assert message_of(["-"], listed=True) == "--list -: standard input holds no paths"


@pytest.mark.parametrize("arguments", [["a.jpg"], ["-", "a.jpg"]])
def test_a_list_goes_with_standard_input_alone(arguments):
    assert message_of(arguments, listed=True) == "--list goes with - alone: the paths come on standard input"
