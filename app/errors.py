"""What the user gets when something fails: one line, and an exit code that says whose turn it is.

    if __name__ == "__main__":
        sys.exit(run(main))

2: the command line, a path or the data; 1: a failure while running; 130: Ctrl-C; 143: SIGTERM.
"""

import errno
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

USAGE, FAILURE, INTERRUPTED = 2, 1, 130
# What the user can mend, by name: to import data or models for their classes takes longer than Ctrl-C may wait.
DATA = {"data.errors.DataError"}
FILES = {"models.errors.ModelError", "callbacks.checkpoint_file.CheckpointError"}
USERS_TURN = {"app.errors.UsageError"} | FILES | DATA
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


class UsageError(ValueError):
    """The command cannot be carried out as given; the message names the flag or file and the way out."""


class RunFailure(RuntimeError):
    """What is missing or cannot be written was in order when the run began; the message is the whole line."""


class Terminated(KeyboardInterrupt):
    """SIGTERM: as Ctrl-C, and not as SystemExit, which those who run a user's code have to catch."""


def run(main: Callable[[list[str]], int], argv: list[str] | None = None) -> int:
    """Call ``main(argv)`` and turn what it raises into one line on standard error and an exit code.

    Standard streams that are missing (``2>&-``) are replaced by the null device.
    """
    argv = sys.argv[1:] if argv is None else argv
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  open to the end
    if "--debug" not in argv and not sys.warnoptions:
        # What libraries say to the programmers who use them, each release another sentence.
        for category in (DeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
    try:
        with _terminable():
            code = _call(main, argv)
    except BrokenPipeError:  # the reader of our output, `head` say, has seen enough
        code = FAILURE
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:  # here, since Python shows a traceback for it at exit
            if stream is sys.stdout and not code and not isinstance(error, BrokenPipeError):
                print(f"error: standard output: {error.strerror}", file=sys.stderr)
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            code = code or FAILURE
    return code


def signalled(number: int) -> int:
    """The exit code that says which signal ended a command, as a shell has it."""
    return 128 + number


@contextmanager
def running() -> Iterator[None]:
    """Within, files and images that go missing are a failure of the run: exit code 1, and not 2 as at its start."""
    try:
        yield
    except BrokenPipeError:
        raise
    except Exception as error:
        if isinstance(error, OSError) or _is_one_of(error, DATA):
            raise RunFailure(one_line(error)) from error
        raise


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM end the command as Ctrl-C does, with everything put in order; by default it does so at once."""

    def end(signum: int, frame: object) -> None:
        raise Terminated

    here = threading.current_thread() is threading.main_thread()  # signals come there alone
    if not here or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _call(main: Callable[[list[str]], int], argv: list[str]) -> int:
    try:
        return main(argv)
    except SystemExit as done:  # argparse's, after --help
        return done.code
    except Terminated:
        print("terminated", file=sys.stderr)
        return signalled(signal.SIGTERM)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception as error:
        if "--debug" in argv:
            import traceback

            traceback.print_exc()
        say_error(error)
        return USAGE if _is_users_turn(error) or _is_bad_path(error) else FAILURE


def say_error(error: Exception) -> None:
    """One line on standard error, in which what would move the cursor or colour a terminal is spelled out."""
    from app.outputs import printable

    print(f"error: {printable(one_line(error))}", file=sys.stderr)


def _is_users_turn(error: Exception) -> bool:
    return _is_one_of(error, USERS_TURN)


def _is_one_of(error: Exception, names: set[str]) -> bool:
    return any(f"{kind.__module__}.{kind.__name__}" in names for kind in type(error).__mro__)


def _is_bad_path(error: Exception) -> bool:
    if isinstance(error, RuntimeError) and str(error).startswith(LOOP):
        return True
    return isinstance(error, BAD_PATH) or (isinstance(error, OSError) and error.errno in BAD_PATH_NUMBERS)


def one_line(error: Exception) -> str:
    """The message of `error` on one line, without what fastai and torch wrap around it, with a remedy."""
    if isinstance(error, RunFailure):
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
    expected = _is_users_turn(error) or type(error).__module__.startswith("callbacks")
    if not expected:
        message = f"{type(error).__name__}: {message[:300]}" + ("" if remedy else " (--debug shows the traceback)")
    return f"{message} ({remedy})" if remedy else message
