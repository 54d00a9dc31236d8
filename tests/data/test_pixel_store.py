"""The cache of decoded images: what was put is got, and what is stale, damaged or gone is not.

python -m pytest tests/data/test_pixel_store.py
"""

import sqlite3
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import data.pixel_store
from data.facts_cache import Stamp
from data.pixel_store import PixelStore

PROJECT = Path(data.pixel_store.__file__).resolve().parents[1]
PATH, STAMP, FORM = Path("photos/1.jpg"), Stamp(1234, 5678), "square 32"


def pixels(seed: int = 0, shape: tuple[int, int] = (32, 48)) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (*shape, 3), np.uint8)


@pytest.fixture
def filled(tmp_path):
    """A folder with the pixels of one image."""
    store = PixelStore(tmp_path)
    store.put(PATH, STAMP, FORM, pixels())
    store.close()
    return tmp_path


def test_what_was_put_is_got_in_this_run_and_the_next(filled):
    store = PixelStore(filled)
    for _ in range(2):
        found = store.get(PATH, STAMP, FORM)
        assert np.array_equal(found, pixels())
        assert not found.flags.writeable
    store.put(PATH, STAMP, "presized 32", pixels(1, (50, 7)))
    assert np.array_equal(store.get(PATH, STAMP, "presized 32"), pixels(1, (50, 7)))
    assert np.array_equal(store.get(PATH, STAMP, FORM), pixels())
    assert (store.stored, store.missed, store.full) == (1, 0, "")


@pytest.mark.parametrize(
    ("path", "stamp", "form"),
    [
        (PATH, Stamp(1235, 5678), FORM),
        (PATH, Stamp(1234, 5679), FORM),
        (PATH, STAMP, "square 33"),
        (Path("photos/2.jpg"), STAMP, FORM),
        (PATH, Stamp(2**70, 1), FORM),
    ],
)
def test_another_file_state_or_size_is_not_there(filled, path, stamp, form):
    store = PixelStore(filled)
    assert store.get(path, stamp, form) is None
    store.get(PATH, STAMP, FORM)
    assert store.get(path, stamp, form) is None


def test_another_reader_decodes_again(filled, monkeypatch):
    monkeypatch.setattr(data.pixel_store, "MADE_BY", "another Pillow")
    assert PixelStore(filled).get(PATH, STAMP, FORM) is None


def test_a_changed_file_takes_the_place_of_the_old(filled):
    store, later = PixelStore(filled), Stamp(99, 100)
    store.put(PATH, later, FORM, pixels(2))
    store.close()
    store = PixelStore(filled)
    assert store.get(PATH, STAMP, FORM) is None
    assert np.array_equal(store.get(PATH, later, FORM), pixels(2))


def damage_a_byte(folder):
    (pack,) = folder.glob("*.pack")
    content = bytearray(pack.read_bytes())
    content[2000] ^= 1
    pack.write_bytes(content)


def cut_the_pack(folder):
    (pack,) = folder.glob("*.pack")
    pack.write_bytes(pack.read_bytes()[:-1])


def empty_the_pack(folder):
    next(folder.glob("*.pack")).write_bytes(b"")


def remove_the_pack(folder):
    next(folder.glob("*.pack")).unlink()


def overwrite_the_index(folder):
    (folder / "index.sqlite").write_bytes(b"no database " * 99)


def another_table(folder):
    with sqlite3.connect(folder / "index.sqlite") as connection:
        connection.execute("DROP TABLE pixels")
        connection.execute("CREATE TABLE pixels (a, b)")


def nonsense_in_the_row(folder):
    with sqlite3.connect(folder / "index.sqlite") as connection:
        connection.execute("UPDATE pixels SET start = 'x', height = -5")


@pytest.mark.parametrize(
    "damage",
    [
        damage_a_byte,
        cut_the_pack,
        empty_the_pack,
        remove_the_pack,
        overwrite_the_index,
        another_table,
        nonsense_in_the_row,
    ],
)
def test_what_is_damaged_is_not_trusted_and_is_made_again(damage, filled):
    damage(filled)
    store = PixelStore(filled)
    assert store.get(PATH, STAMP, FORM) is None
    store.put(PATH, STAMP, FORM, pixels(3))
    assert np.array_equal(store.get(PATH, STAMP, FORM), pixels(3))
    store.close()
    again = PixelStore(filled).get(PATH, STAMP, FORM)
    # an index of another table cannot be told from a later version's, and is left alone
    assert again is None if damage is another_table else np.array_equal(again, pixels(3))


def test_a_folder_that_cannot_be_used_is_no_error(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    store = PixelStore(file / "below")
    store.put(PATH, STAMP, FORM, pixels())
    assert store.get(PATH, STAMP, FORM) is None
    assert store.full == "the cache folder cannot be used"
    store.save()
    store.close()


def test_a_full_cache_keeps_what_it_has(tmp_path, monkeypatch):
    monkeypatch.setattr("data.packs.PACK_BYTES", 10_000)
    store = PixelStore(tmp_path, limit=15_000)
    for number in range(4):
        store.put(Path(f"{number}.jpg"), STAMP, FORM, pixels(number))
    assert (store.stored, store.missed) == (2, 2)
    found = [store.get(Path(f"{number}.jpg"), STAMP, FORM) is not None for number in range(4)]
    assert found == [True, True, False, False]
    assert store.full


def test_what_makes_room_is_forgotten(tmp_path, monkeypatch):
    monkeypatch.setattr("data.packs.PACK_BYTES", 5_000)
    old = PixelStore(tmp_path, limit=6_000)
    old.put(Path("old.jpg"), STAMP, FORM, pixels())
    old.close()
    new = PixelStore(tmp_path, limit=6_000)
    new.put(PATH, STAMP, FORM, pixels(1))
    new.close()
    with sqlite3.connect(tmp_path / "index.sqlite") as connection:
        assert [row[0] for row in connection.execute("SELECT path FROM pixels")] == [bytes(PATH.absolute())]


def test_threads_share_a_store(tmp_path):
    store = PixelStore(tmp_path)

    def work(number):
        path = Path(f"{number % 50}.jpg")
        if store.get(path, STAMP, FORM) is None:
            store.put(path, STAMP, FORM, pixels(number % 50))
        return np.array_equal(store.get(path, STAMP, FORM), pixels(number % 50))

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(work, range(400)))
    store.close()
    store = PixelStore(tmp_path)
    assert all(np.array_equal(store.get(Path(f"{n}.jpg"), STAMP, FORM), pixels(n)) for n in range(50))


def test_processes_share_a_folder(tmp_path):
    script = f"""
        import sys
        from pathlib import Path
        import numpy as np
        from data.facts_cache import Stamp
        from data.pixel_store import PixelStore
        store, first = PixelStore(Path({str(tmp_path)!r})), int(sys.argv[1])
        for number in range(first, first + 300):
            path, stamp = Path(f"/p/{{number}}.jpg"), Stamp(1, 2)
            if store.get(path, stamp, "square 9") is None:
                store.put(path, stamp, "square 9", np.full((9, 9, 3), number % 256, np.uint8))
        store.close()
    """
    running = [
        subprocess.Popen([sys.executable, "-c", textwrap.dedent(script), str(first)], cwd=PROJECT)
        for first in (0, 100, 200)
    ]
    assert [process.wait(timeout=60) for process in running] == [0, 0, 0]
    store = PixelStore(tmp_path)
    for number in range(500):
        found = store.get(Path(f"/p/{number}.jpg"), Stamp(1, 2), "square 9")
        assert found is not None
        assert (found == number % 256).all()
