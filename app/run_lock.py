"""One process at a time trains in a run folder: a lock of the system's, gone with its process however that ends.

hold(Path("runs/today"))                    # until this process ends; another one is refused
"""

import errno
import os
from pathlib import Path
from typing import IO

from app.errors import UsageError

try:
    import fcntl
except ImportError:  # Windows: nothing is held there, and nobody refused
    fcntl = None

LOCK = ".lock"
TAKEN = (errno.EACCES, errno.EAGAIN)  # which of the two is the system's choice; all else: it has no locks there
_held: dict[Path, IO[str]] = {}


def hold(folder: Path) -> None:
    """Take `folder` for this process, which may do so again; workers that it forks have no part in it.

    On a file system without locks nothing is taken.

    Raises
    ------
    UsageError
        Another process has it, or its lock is a link, a pipe or a folder.
    OSError
        The folder cannot be written.
    """
    path = folder.resolve() / LOCK
    if fcntl is None or path in _held:
        return
    if path.is_symlink() or (path.exists() and not path.is_file()):  # it is going to be emptied
        raise UsageError(f"--resume {folder}: {path.name} there is no file of its own: remove it")
    stream = path.open("a+", encoding="utf-8", errors="replace")
    try:
        # By lockf: what flock takes, a forked worker that outlives a killed process would go on holding.
        fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        with stream:
            stream.seek(0)
            owner = stream.read().strip() or "another process"
        if error.errno in TAKEN:
            raise UsageError(f"--resume {folder}: {owner} is still training there: wait for its end") from None
        return
    stream.truncate(0)
    stream.write(f"process {os.getpid()}")
    stream.flush()
    _held[path] = stream
