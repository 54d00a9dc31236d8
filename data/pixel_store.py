"""Decoded images by path, kept in the user's cache folder, so that later epochs and runs need not decode.

    store = PixelStore()
    store.put(path, stamp, "square 224", pixels)
    store.get(path, stamp, "square 224")        # uint8 (height, width, 3), memory-mapped, or None

The pixels lie in ``fastsight/pixels/*.pack`` and a SQLite index beside them. What is found is never trusted: an
entry counts for one size and time of change of its file, one version of the reader, and its own checksum. It is
a convenience: where it cannot be read or written, files are decoded again.
"""

import sqlite3
import threading
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np

from data import forms
from data.database import cache_folder, open_database, path_key
from data.facts_cache import READER, Stamp
from data.packs import Packs

LIMIT = 20 * 2**30  # bytes, of all data sets together
SAVE_EVERY = 200  # entries; what a run that is killed loses at most
MADE_BY = f"{READER} {forms.RULES} {forms.PRESIZE:.4f}"

COLUMNS = "path, form, size, mtime, made_by, pack, start, height, width, checksum"
CREATE = f"CREATE TABLE IF NOT EXISTS pixels ({COLUMNS}, PRIMARY KEY (path, form)) WITHOUT ROWID"
PROBE = f"SELECT {COLUMNS} FROM pixels LIMIT 1"
FIND = (
    "SELECT pack, start, height, width, checksum FROM pixels "
    "WHERE path = ? AND form = ? AND size = ? AND mtime = ? AND made_by = ?"
)


class PixelStore:
    """Safe for threads, and for several processes at once.

    Parameters
    ----------
    folder
        None for ``pixels`` in `cache_folder`.
    limit
        Bytes at most; when they are reached, what was used longest ago is thrown away, but nothing of this run.

    Attributes
    ----------
    stored, missed : int
        Entries written, and entries that found no room.
    """

    def __init__(self, folder: Path | None = None, limit: int = LIMIT):
        self.stored = self.missed = 0
        self._lock = threading.Lock()
        self._views: dict[tuple[Path, str], tuple[Stamp, np.ndarray]] = {}
        self._unsaved: list[tuple] = []
        self._evicted = 0
        self._connection: sqlite3.Connection | None = None
        self._packs: Packs | None = None
        with suppress(OSError, RuntimeError):  # RuntimeError: there is no home folder
            folder = folder or cache_folder() / "pixels"
            folder.mkdir(parents=True, exist_ok=True)
            self._packs = Packs(folder, limit)
            self._connection = open_database(folder / "index.sqlite", CREATE, PROBE, threads=True)

    @property
    def full(self) -> str:
        """Why nothing more is kept, or empty."""
        return "the cache folder cannot be used" if self._packs is None else self._packs.full

    def get(self, path: Path, stamp: Stamp, form: str) -> np.ndarray | None:
        """The pixels, uint8 (height, width, 3), read-only; None where there are none, or not of this file."""
        known = self._views.get((path, form))
        if known is not None and known[0] == stamp:
            return known[1]
        row = self._find(path, stamp, form)
        if row is None:
            return None
        pack, start, height, width, checksum = row
        try:
            pixels = self._packs.view(pack, start, height * width * 3)
        except (TypeError, ValueError):  # a row that is not ours
            return None
        if pixels is None or zlib.crc32(pixels) != checksum:
            return None
        pixels = pixels.reshape(height, width, 3)
        self._views[path, form] = stamp, pixels
        return pixels

    def put(self, path: Path, stamp: Stamp, form: str, pixels: np.ndarray) -> None:
        """Keep `pixels`, uint8 (height, width, 3), if there is room."""
        content = pixels.tobytes()
        place = None if self._packs is None else self._packs.append(content)
        if place is None:
            self.missed += 1
            return
        height, width, _ = pixels.shape
        view = self._packs.view(*place, len(content))
        if view is None:  # somebody has emptied the folder
            return
        self._views[path, form] = stamp, view.reshape(pixels.shape)
        self.stored += 1
        row = (path_key(path), form, *stamp, MADE_BY, *place, height, width, zlib.crc32(content))
        with self._lock:
            self._unsaved.append(row)
            if len(self._unsaved) >= SAVE_EVERY:
                self._save()

    def save(self) -> None:
        """Write the index."""
        with self._lock:
            self._save()

    def close(self) -> None:
        """Write the index and let go of the files; what was got stays valid."""
        with self._lock:
            self._save()
            if self._packs is not None:
                self._packs.close()
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _find(self, path: Path, stamp: Stamp, form: str) -> tuple | None:
        with self._lock:
            if self._connection is None:
                return None
            try:
                return self._connection.execute(FIND, (path_key(path), form, *stamp, MADE_BY)).fetchone()
            except (sqlite3.Error, OverflowError):  # OverflowError: a stamp beyond 64 bits
                return None

    def _save(self) -> None:
        rows, self._unsaved = self._unsaved, []
        gone = [(name,) for name in self._packs.evicted[self._evicted :]] if self._packs is not None else []
        if self._connection is None or not (rows or gone):
            return
        try:
            with self._connection:
                self._connection.executemany("DELETE FROM pixels WHERE pack = ?", gone)
                marks = ", ".join("?" * len(COLUMNS.split(",")))
                self._connection.executemany(f"INSERT OR REPLACE INTO pixels VALUES ({marks})", rows)
            self._evicted += len(gone)
        except (sqlite3.Error, OverflowError):  # a full disk, say: the entries serve this run alone
            return
