"""The SQLite files of the user's cache folder: opened, made where they are missing, and begun anew where damaged.

connection = open_database(cache_folder() / "facts.sqlite", "CREATE TABLE IF NOT EXISTS files (...)", "SELECT ...")

What they hold is a convenience: deleting them is always safe, and one that cannot be opened is gone without.
"""

import os
import sqlite3
from pathlib import Path

WAIT_SECONDS = 5  # for another process that is writing


def cache_folder() -> Path:
    """``fastsight`` in the user's cache folder.

    Raises
    ------
    RuntimeError
        There is no home folder.
    """
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "fastsight")


def path_key(path: Path) -> bytes:
    """What a file is kept under; bytes, since a name need not be valid Unicode."""
    return os.fsencode(os.path.abspath(path))


def open_database(file: Path, create: str, probe: str, *, threads: bool = False) -> sqlite3.Connection | None:
    """Open `file`, whose one table `create` makes.

    Parameters
    ----------
    probe
        A query that fails where the file is damaged, or its table another one.
    threads
        Whether several threads are going to use the connection, one at a time.

    Returns
    -------
    sqlite3.Connection or None
        None where it is locked for long, or cannot be written.
    """
    for _ in range(2):
        connection = None
        try:
            connection = sqlite3.connect(file, timeout=WAIT_SECONDS, check_same_thread=not threads)
            connection.execute(create)
            connection.execute(probe).fetchone()
            return connection
        except sqlite3.Error as error:
            if connection is not None:
                connection.close()
            if isinstance(error, sqlite3.OperationalError):  # locked, or not to be written
                return None
            file.unlink(missing_ok=True)  # damaged: begin anew
    return None
