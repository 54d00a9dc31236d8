"""The cache of facts: what makes it forget, two at once, and that no state of it is an error.

python -m pytest tests/data/test_facts_cache.py
"""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import data.database
import data.facts_cache
from data.facts_cache import FactsCache, Stamp, default_file, stamp_of
from data.inspect import Facts

SEEN = Facts(60, 40, "JPEG", "0" * 32, uniform=True)
STAMP = Stamp(1000, 1_700_000_000_123_456_789)
PHOTO = Path("photos/cat/1.jpg")


@pytest.fixture
def file(tmp_path):
    return tmp_path / "cache" / "facts.sqlite"


def remembered(file, path=PHOTO, stamp=STAMP):
    with FactsCache(file) as cache:
        return cache.get(path, stamp)


def remember(file, facts=SEEN, path=PHOTO, stamp=STAMP):
    with FactsCache(file) as cache:
        cache.put(path, stamp, facts)


def test_facts_come_back_as_they_were(file):
    assert remembered(file) is None
    remember(file)
    assert remembered(file) == SEEN
    assert isinstance(remembered(file), Facts)
    bad = Facts(reason="damaged (it is)", truncated=True)
    remember(file, bad)
    assert remembered(file) == bad


def test_another_size_or_time_is_another_file(file):
    remember(file)
    assert remembered(file, stamp=STAMP._replace(size=999)) is None
    assert remembered(file, stamp=STAMP._replace(mtime=STAMP.mtime + 1)) is None
    assert remembered(file, path=Path("photos/cat/2.jpg")) is None


def test_a_path_is_the_same_from_anywhere(file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    remember(file, path=Path("photos/1.jpg"))
    assert remembered(file, path=tmp_path / "photos" / "1.jpg") == SEEN


def test_another_reader_looks_again(file, monkeypatch):
    remember(file)
    monkeypatch.setattr(data.facts_cache, "READER", "1 99.0 JPEG")
    assert remembered(file) is None
    remember(file, SEEN._replace(width=61))
    assert remembered(file).width == 61
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT count(*) FROM seen").fetchone() == (1,)


def test_the_oldest_are_forgotten(file, monkeypatch):
    monkeypatch.setattr(data.facts_cache, "LIMIT", 3)
    photos = [Path(f"photos/{index}.jpg") for index in range(4)]
    for path in (*photos[:3], photos[0], photos[3]):  # the first is written anew
        remember(file, path=path)
    assert [remembered(file, path=path) is not None for path in photos] == [True, False, True, True]


def test_a_cache_of_an_earlier_version_gives_way(file):
    file.parent.mkdir()
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE files (path BLOB PRIMARY KEY, facts TEXT) WITHOUT ROWID")
    remember(file)
    assert remembered(file) == SEEN
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall() == [("seen",)]


def test_a_name_need_not_be_valid_unicode(file):
    path = Path(os.fsdecode(b"photos/\xff.jpg"))
    remember(file, path=path)
    assert remembered(file, path=path) == SEEN


def test_a_file_that_cannot_be_looked_at_has_no_stamp(tmp_path):
    (tmp_path / "a").write_bytes(b"123")
    assert stamp_of(tmp_path / "a").size == 3
    assert stamp_of(tmp_path / "b") is None
    assert stamp_of(Path("a\0b")) is None


def test_it_lies_in_the_users_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_file() == tmp_path / "fastsight" / "facts.sqlite"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert default_file() == tmp_path / "home" / ".cache" / "fastsight" / "facts.sqlite"


@pytest.mark.parametrize("length", [0, 100, 3000], ids=["emptied", "its head", "its first page"])
def test_a_damaged_cache_begins_anew(file, length):
    remember(file)
    content = file.read_bytes()
    file.write_bytes(content[:length].replace(b"SQLite", b"sqlITE"))
    assert remembered(file) is None
    remember(file)
    assert remembered(file) == SEEN


def test_a_row_that_is_not_ours_is_looked_at_again(file):
    remember(file)
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE seen SET facts = '[1, 2'")
    assert remembered(file) is None


def test_where_nothing_can_be_written_nothing_is_remembered(tmp_path):
    (tmp_path / "taken").write_text("a file, not a folder")
    file = tmp_path / "taken" / "facts.sqlite"
    remember(file)
    assert remembered(file) is None
    (tmp_path / "folder.sqlite").mkdir()
    remember(tmp_path / "folder.sqlite")
    assert remembered(tmp_path / "folder.sqlite") is None


def test_another_process_that_writes_for_long_is_not_waited_for_twice(file, monkeypatch):
    monkeypatch.setattr(data.database, "WAIT_SECONDS", 0.01)
    remember(file)
    other = sqlite3.connect(file)
    other.execute("BEGIN IMMEDIATE")
    remember(file, SEEN._replace(width=1))
    assert remembered(file) == SEEN
    other.execute("ROLLBACK")
    other.close()
    remember(file, SEEN._replace(width=1))
    assert remembered(file).width == 1


WRITER = """
import sys
from pathlib import Path
from data.facts_cache import FactsCache, Stamp
from data.inspect import Facts
with FactsCache(Path(sys.argv[1])) as cache:
    for index in range(3000):
        cache.put(Path(sys.argv[2], f"{index}.jpg"), Stamp(index, index), Facts(index + 1))
"""


def test_two_processes_at_once(file):
    root = Path(data.facts_cache.__file__).parents[1]
    both = [subprocess.Popen([sys.executable, "-c", WRITER, file, f"/photos/{name}"], cwd=root) for name in "ab"]
    assert [process.wait(60) for process in both] == [0, 0]
    with FactsCache(file) as cache:
        for name in "ab":
            assert all(cache.get(Path("/photos", name, f"{i}.jpg"), Stamp(i, i)) == Facts(i + 1) for i in range(3000))
