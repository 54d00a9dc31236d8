"""What is said of an exception, and whether it is the user's turn, told by the names of classes.

say_error(error)                            # error: photos/1.jpg: Permission denied

To import data or models for their classes takes longer than Ctrl-C may wait.
"""

import errno
import os
import sys

# What the user can mend.
DATA = {"data.errors.DataError"}
USERS_TURN = {"app.errors.UsageError", "models.errors.ModelError", "callbacks.checkpoint_file.CheckpointError"} | DATA
BAD_PATH = (FileNotFoundError, PermissionError, NotADirectoryError, IsADirectoryError, FileExistsError)
BAD_PATH_NUMBERS = (errno.ENAMETOOLONG, errno.ELOOP, errno.EROFS)  # which Python has no class for
LOOP = "Symlink loop from "  # of pathlib, up to Python 3.12; a RuntimeError
WORKER_PREFIX = "Original Traceback"  # torch re-raises a worker's exception with its traceback as message

# What torch says, and what helps; the first that occurs in the message is added to the line.
REMEDIES = {
    "out of memory": "lower --batch-size or --img-size",
    "resource_exhausted": "lower --batch-size or --img-size",  # what XLA says
    "bus error": "shared memory, /dev/shm, is too small for the workers: use --workers 0, or enlarge it",
    "killed by signal": "a worker process was killed, for lack of memory or of /dev/shm perhaps: use --workers 0",
    "exited unexpectedly": "a worker process died, for lack of /dev/shm perhaps: use --workers 0 to see why",
    # Without a file's name it may be a worker's semaphore, which lies in shared memory.
    "can't allocate memory": "lower --batch-size or --img-size",  # of a CPU
    "no space left": "free some disk space; if /dev/shm is full, --workers 0 does without it",
}


def say_error(error: Exception) -> None:
    """One line on standard error, in which what would move the cursor or colour a terminal is spelled out."""
    from app.outputs import printable

    print(f"error: {printable(one_line(error))}", file=sys.stderr)


def is_users_turn(error: Exception) -> bool:
    """Whether another command, file or data set mends it."""
    if isinstance(error, OSError) and (isinstance(error, BAD_PATH) or error.errno in BAD_PATH_NUMBERS):
        return True
    return is_one_of(error, USERS_TURN) or (isinstance(error, RuntimeError) and str(error).startswith(LOOP))


def is_one_of(error: Exception, names: set[str]) -> bool:
    """Whether the class of `error`, or one that it derives from, has one of `names`."""
    return any(f"{kind.__module__}.{kind.__name__}" in names for kind in type(error).__mro__)


def one_line(error: Exception) -> str:
    """The message of `error` on one line, without what fastai and torch wrap around it, with a remedy."""
    if is_one_of(error, {"app.errors.RunFailure"}):
        return str(error)
    if isinstance(error, OSError) and error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    message = str(error)
    if message.startswith(LOOP):
        return f"{message.removeprefix(LOOP)[1:-1]}: {os.strerror(errno.ELOOP)}"
    if WORKER_PREFIX in message:
        message = message.strip().splitlines()[-1].partition(": ")[2]
    # fastai: "Exception occured in `X` when calling event `y`:\n\t<message>"
    message = " ".join(message.rpartition(":\n\t")[2].split())
    remedy = next((remedy for sign, remedy in REMEDIES.items() if sign in message.lower()), None)
    expected = is_one_of(error, USERS_TURN) or type(error).__module__.startswith("callbacks")
    if not expected:
        message = f"{type(error).__name__}: {message[:300]}" + ("" if remedy else " (--debug shows the traceback)")
    return f"{message} ({remedy})" if remedy else message
