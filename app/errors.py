"""What the user gets when something fails: one line, and an exit code that says whose turn it is.

    if __name__ == "__main__":
        sys.exit(run(main))

2: the command line, a path or the data; 1: a failure while running; 130: Ctrl-C.
"""

import os
import sys
import traceback
import warnings
from collections.abc import Callable

from data.errors import DataError
from models.errors import ModelError

USAGE, FAILURE, INTERRUPTED = 2, 1, 130
BAD_PATH = (FileNotFoundError, PermissionError, NotADirectoryError, IsADirectoryError, FileExistsError)
WORKER_PREFIX = "Original Traceback"  # torch re-raises a worker's exception with its traceback as message

# What torch says, and what helps; the first that occurs in the message is added to the line.
REMEDIES = {
    "out of memory": "lower --batch-size or --img-size",
    "bus error": "shared memory is too small for the workers: use --workers 0",
    "killed by signal": "a worker process was killed, for lack of memory perhaps: use --workers 0",
    "exited unexpectedly": "a worker process died: use --workers 0 to see why",
    "no space left": "free some disk space",
}


class UsageError(ValueError):
    """The command cannot be carried out as given; the message names the flag or file and the way out."""


def run(main: Callable[[list[str]], int], argv: list[str] | None = None) -> int:
    """Call ``main(argv)`` and turn what it raises into one line on standard error and an exit code."""
    argv = sys.argv[1:] if argv is None else argv
    if "--debug" not in argv and not sys.warnoptions:
        # What libraries say to the programmers who use them, each release another sentence.
        for category in (DeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
    try:
        return main(argv)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output, `head` say, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE
    except Exception as error:
        if "--debug" in argv:
            traceback.print_exc()
        print(f"error: {one_line(error)}", file=sys.stderr)
        return USAGE if isinstance(error, (UsageError, DataError, ModelError, *BAD_PATH)) else FAILURE


def one_line(error: Exception) -> str:
    """The message of `error` on one line, without what fastai and torch wrap around it, with a remedy."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    message = str(error)
    if WORKER_PREFIX in message:
        message = message.strip().splitlines()[-1].partition(": ")[2]
    # fastai: "Exception occured in `X` when calling event `y`:\n\t<message>"
    message = " ".join(message.rpartition(":\n\t")[2].split())
    remedy = next((remedy for sign, remedy in REMEDIES.items() if sign in message.lower()), None)
    expected = isinstance(error, (UsageError, DataError, ModelError)) or type(error).__module__.startswith("callbacks")
    if not expected:
        message = f"{type(error).__name__}: {message[:300]}" + ("" if remedy else " (--debug shows the traceback)")
    return f"{message} ({remedy})" if remedy else message
