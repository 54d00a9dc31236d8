"""Files of bytes: what was appended is seen, room is made, and no disk is too full.

python -m pytest tests/data/test_packs.py
"""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import data.packs
from data.packs import Packs

PROJECT = Path(data.packs.__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def small_packs(monkeypatch):
    monkeypatch.setattr(data.packs, "PACK_BYTES", 1000)


def filled(folder, age: int) -> str:
    """A pack of 900 bytes that was last used `age` seconds ago; its name."""
    packs = Packs(folder, 10**6)
    name, _ = packs.append(b"x" * 900)
    packs.close()
    seconds = (folder / name).stat().st_mtime - age
    os.utime(folder / name, (seconds, seconds))
    return name


def test_what_was_appended_is_seen_at_once_and_by_others(tmp_path):
    packs = Packs(tmp_path, 10**6)
    contents = [bytes([index]) * (100 + index) for index in range(30)]  # of several packs
    places = [packs.append(content) for content in contents]
    assert len({name for name, _ in places}) > 2
    for reader in (packs, Packs(tmp_path, 10**6)):
        assert [bytes(reader.view(*place, len(content))) for place, content in zip(places, contents)] == contents
    view = packs.view(*places[0], 100)
    assert not view.flags.writeable
    packs.close()
    assert bytes(view) == contents[0]


def test_a_closed_pack_is_as_long_as_what_is_in_it(tmp_path):
    name = filled(tmp_path, 0)
    assert (tmp_path / name).stat().st_size == 900


@pytest.mark.parametrize(("name", "offset", "length"), [("none.pack", 0, 1), (None, 0, 901), (None, -1, 10)])
def test_what_is_not_there_is_none(name, offset, length, tmp_path):
    assert Packs(tmp_path, 10**6).view(name or filled(tmp_path, 0), offset, length) is None


def test_the_pack_used_longest_ago_makes_room(tmp_path):
    old, used, new = (filled(tmp_path, age) for age in (300, 400, 100))
    packs = Packs(tmp_path, limit=3000)
    packs.view(used, 0, 1)  # is in use again: never goes while this run lasts
    packs.append(b"y" * 900)
    assert packs.evicted == [old]
    packs.append(b"y" * 900)
    assert packs.evicted == [old, new]
    assert packs.append(b"y" * 900) is None
    assert packs.full == f"{tmp_path}: 0.0 GB are in use"
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 3000
    assert bytes(packs.view(used, 0, 3)) == b"xxx"


def test_using_a_pack_makes_it_young(tmp_path):
    first, second = filled(tmp_path, 300), filled(tmp_path, 200)
    Packs(tmp_path, 10**6).view(first, 0, 1)
    packs = Packs(tmp_path, limit=2500)
    packs.append(b"y")
    assert packs.evicted == [second]


def test_a_run_goes_on_with_a_pack_that_another_has_removed(tmp_path):
    name = filled(tmp_path, 300)
    reading = Packs(tmp_path, 10**6)
    view = reading.view(name, 0, 900)
    writing = Packs(tmp_path, limit=1500)
    assert writing.append(b"y") is not None
    assert writing.evicted == [name]
    assert bytes(view) == b"x" * 900


def test_a_disk_that_is_full_ends_the_writing_and_nothing_else(tmp_path):
    """A limit of the system on the size of files stands for the disk's end: the same error, of the same call."""
    script = f"""
        import resource
        from pathlib import Path
        import data.packs
        data.packs.PACK_BYTES = 5000
        packs = data.packs.Packs(Path({str(tmp_path)!r}), 10**9)
        first = packs.append(b"a" * 1000)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))
        assert packs.append(b"b" * 1000) is None
        assert packs.full == {str(tmp_path)!r} + ": File too large", packs.full
        assert packs.append(b"c") is None
        assert bytes(packs.view(*first, 1000)) == b"a" * 1000
        packs.close()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], cwd=PROJECT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_half_of_what_the_disk_has_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("Usage", (), {"free": 1500}))
    packs = Packs(tmp_path, 10**9)
    assert packs.append(b"x") is None
    assert packs.full
