"""What the user gets when something fails: one line, and an exit code that says whose turn it is.

    if __name__ == "__main__":
        sys.exit(run(main))

2: the command line, a path or the data; 1: a failure while running; 130: Ctrl-C; 143: SIGTERM.
"""

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from app.error_lines import DATA, is_one_of, is_users_turn, one_line, say_error
from app.threads import sleep_while_waiting

USAGE, FAILURE, INTERRUPTED = 2, 1, 130


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
    sleep_while_waiting()
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
        if isinstance(error, OSError) or is_one_of(error, DATA):
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
        return USAGE if is_users_turn(error) else FAILURE
