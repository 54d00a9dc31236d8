"""What was seen in each file, remembered in the user's cache folder, so that a file is decoded once.

    with FactsCache() as cache:
        cache.get(path, stamp) or cache.put(path, stamp, inspect_file(path))

One SQLite file, ``fastsight/facts.sqlite``, for all data sets. It is a convenience: when it cannot be read
or written the facts are found again, and deleting it is always safe. It holds a bounded number of files: the
oldest are forgotten.
"""

import json
import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import PIL

from data.database import cache_folder, open_database, path_key
from data.inspect import Facts
from data.reader import FORMATS

RULES = 1  # raise it with every change of the reader, or of what a `Facts` means
SAVE_EVERY = 500  # files; what an interrupted audit loses at most
LIMIT = 2_000_000  # files; ImageNet has 1.3 million, and a row takes some 300 bytes

CREATE = "CREATE TABLE IF NOT EXISTS seen (path BLOB PRIMARY KEY, size INTEGER, mtime INTEGER, reader TEXT, facts TEXT)"
PROBE = "SELECT path, size, mtime, reader, facts FROM seen LIMIT 1"
# A row that is written, or written anew, gets the next number: what is far below the highest is the oldest.
FORGET = "DELETE FROM seen WHERE rowid <= (SELECT max(rowid) FROM seen) - ?"
DROP_EARLIER = "DROP TABLE IF EXISTS files"  # an earlier form, which had no order

# Facts depend on who decoded: an update of Pillow, or pillow-heif installed, makes them out of date.
READER = f"{RULES} {PIL.__version__} {' '.join(FORMATS)}"


class Stamp(NamedTuple):
    """What tells that a file has changed."""

    size: int  # bytes
    mtime: int  # nanoseconds


def stamp_of(path: Path) -> Stamp | None:
    """The stamp of a file, or None when it cannot be looked at."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):  # ValueError: a null character in a name from a CSV
        return None
    return Stamp(found.st_size, found.st_mtime_ns)


def default_file() -> Path:
    """``fastsight/facts.sqlite`` in the user's cache folder."""
    return cache_folder() / "facts.sqlite"


class FactsCache:
    """Facts by path, valid while the file's stamp and our reader are the same. For one thread.

    Parameters
    ----------
    file
        The database; None for `default_file`. Two processes may use it at once.
    """

    def __init__(self, file: Path | None = None):
        self._file = file
        self._connection: sqlite3.Connection | None = None
        self._unsaved: list[tuple[bytes, int, int, str, str]] = []

    def __enter__(self) -> "FactsCache":
        with suppress(OSError, RuntimeError):  # RuntimeError: there is no home folder
            file = self._file or default_file()
            file.parent.mkdir(parents=True, exist_ok=True)
            self._connection = open_database(file, CREATE, PROBE)
        with suppress(sqlite3.Error):
            if self._connection is not None:
                self._connection.execute(DROP_EARLIER)
        return self

    def __exit__(self, *exception: object) -> None:
        self._save()
        self._close()

    def get(self, path: Path, stamp: Stamp) -> Facts | None:
        """What was seen in `path` when it had this `stamp`."""
        if self._connection is None:
            return None
        query = "SELECT facts FROM seen WHERE path = ? AND size = ? AND mtime = ? AND reader = ?"
        try:
            row = self._connection.execute(query, (path_key(path), *stamp, READER)).fetchone()
            return row and Facts(*json.loads(row[0]))
        except sqlite3.Error:
            self._close()
        except (ValueError, TypeError, OverflowError):  # a row that is not ours; a stamp beyond 64 bits
            pass
        return None

    def put(self, path: Path, stamp: Stamp, facts: Facts) -> None:
        """Remember `facts`, in place of older ones."""
        self._unsaved.append((path_key(path), *stamp, READER, json.dumps(facts)))
        if len(self._unsaved) >= SAVE_EVERY:
            self._save()

    def _save(self) -> None:
        # In one go, so that the database is locked for milliseconds only.
        rows, self._unsaved = self._unsaved, []
        if self._connection is None or not rows:
            return
        try:
            with self._connection:
                self._connection.executemany("INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?, ?)", rows)
                self._connection.execute(FORGET, (LIMIT,))
        except (sqlite3.Error, OverflowError):  # a full disk, say, or another process that writes for long
            self._close()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
