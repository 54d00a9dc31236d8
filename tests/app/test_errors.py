"""What the user gets when something fails.

python -m pytest tests/app/test_errors.py
"""

import argparse
import subprocess
import sys

import pytest

from app.argument_types import positive
from app.error_lines import one_line
from app.errors import UsageError, run
from app.parser import Parser
from app.train_args import IMAGE_SIZES, build_parser
from callbacks.finite import NonFiniteLoss
from data import DataError, ImageError
from models import ModelError


def raising(error):
    def main(argv):
        raise error

    return main


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (UsageError("--epochs is odd"), 2, "error: --epochs is odd"),
        (DataError("no images"), 2, "error: no images"),
        (ImageError("a.jpg: empty file"), 2, "error: a.jpg: empty file"),
        (ModelError("unknown"), 2, "error: unknown"),
        (FileNotFoundError(2, "No such file or directory", "a.txt"), 2, "error: a.txt: No such file or directory"),
        (PermissionError(13, "Permission denied", "/x"), 2, "error: /x: Permission denied"),
        (OSError(36, "File name too long", "/xx"), 2, "error: /xx: File name too long"),
        (OSError(40, "Too many levels of symbolic links", "/x"), 2, "error: /x: Too many levels of symbolic links"),
        (OSError(28, "No space left on device", "/x"), 1, "error: /x: No space left on device"),
        (NonFiniteLoss("the loss became nan"), 1, "error: the loss became nan"),
        (ValueError("a\n  b"), 1, "error: ValueError: a b (--debug shows the traceback)"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_one_line_and_an_exit_code(error, code, line, capsys):
    assert run(raising(error), []) == code
    assert capsys.readouterr() == ("", line + "\n")


def test_debug_shows_the_traceback_before_the_line(capsys):
    assert run(raising(UsageError("no")), ["--debug"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("Traceback (most recent call last):\n")
    assert err.endswith("UsageError: no\nerror: no\n")


def test_what_main_returns_is_the_exit_code():
    assert run(lambda argv: len(argv), ["a", "b", "c"]) == 3


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("CUDA out of memory. Tried to", "CUDA out of memory. Tried to (lower --batch-size or --img-size)"),
        (
            "worker (pid 1) is killed by signal: Bus error.",
            "worker (pid 1) is killed by signal: Bus error. "
            "(shared memory, /dev/shm, is too small for the workers: use --workers 0, or enlarge it)",
        ),
        (
            "worker (pid 1) is killed by signal: Killed.",
            "worker (pid 1) is killed by signal: Killed. "
            "(a worker process was killed, for lack of memory or of /dev/shm perhaps: use --workers 0)",
        ),
        (
            "DataLoader worker (pid(s) 1) exited unexpectedly",
            "DataLoader worker (pid(s) 1) exited unexpectedly (a worker process died, for lack of /dev/shm perhaps: "
            "use --workers 0 to see why)",
        ),
        (
            "[Errno 28] No space left on device",
            "[Errno 28] No space left on device "
            "(free some disk space; if /dev/shm is full, --workers 0 does without it)",
        ),
    ],
)
def test_a_remedy_follows_what_torch_says(message, line):
    assert one_line(RuntimeError(message)) == f"RuntimeError: {line}"


def test_what_fastai_wraps_around_a_message_is_left_out():
    wrapped = NonFiniteLoss("Exception occured in `StopOnNonFinite` when calling event `after_batch`:\n\tloss nan")
    assert one_line(wrapped) == "loss nan"


def test_what_torch_wraps_around_a_message_of_a_worker_is_left_out():
    text = (
        "Caught ImageError in DataLoader worker process 0.\nOriginal Traceback (most recent call last):\n"
        '  File "reader.py", line 1, in read\ndata.errors.ImageError: a.jpg: damaged (x: y)\n'
    )
    assert one_line(ImageError(text)) == "a.jpg: damaged (x: y)"


def test_a_wrong_flag_raises_the_message_of_argparse():
    with pytest.raises(UsageError) as raised:
        Parser(prog="python -m app.train").parse_args(["--nonsense"])
    assert str(raised.value) == "unrecognized arguments: --nonsense (see python -m app.train --help)"


@pytest.mark.parametrize("text", ["0", "-1", "inf", "nan"])
def test_positive_refuses(text):
    with pytest.raises(argparse.ArgumentTypeError) as raised:
        positive(float)(text)
    assert str(raised.value) == f"{text} is not above zero"


def test_positive_takes_zero_when_told_so():
    assert positive(int, zero=True)("0") == 0
    with pytest.raises(argparse.ArgumentTypeError, match=r"^-1 is not zero or more$"):
        positive(int, zero=True)("-1")


@pytest.mark.parametrize(
    ("flag", "value", "problem"),
    [
        ("--aug-mult", "5", "5 is not between 0 and 4.9"),
        ("--aug-mult", "nan", "nan is not between 0 and 4.9"),
        ("--lr", "1e39", "1e39 is too large: the limit is 3.4e+38"),
        ("--lr", "1e-50", "1e-50 is too small: the limit is 1.2e-38"),
        ("--wd", "1e39", "1e39 is too large: the limit is 3.4e+38"),
        ("--wd", "inf", "inf is not zero or more"),
        ("--img-size", "7", "7 is not between 8 and 4096"),
        ("--img-size", "4097", "4097 is not between 8 and 4096"),
        ("--workers", "257", "257 is not between 0 and 256"),
        ("--workers", "-1", "-1 is not between 0 and 256"),
        ("--epochs", "1" + "0" * 20, "100000000000000000000 is too large: the limit is 1000000000"),
        ("--batch-size", "1" + "0" * 20, "100000000000000000000 is too large: the limit is 1000000000"),
        ("--limit", "1" + "0" * 20, "100000000000000000000 is too large: the limit is 1000000000"),
        ("--seed", "4294967296", "4294967296 is not between 0 and 4294967295"),
        ("--seed", "-1", "-1 is not between 0 and 4294967295"),
        ("--device", "cuda:9999999999", "cuda:9999999999: GPUs are numbered from 0 to 127"),
        ("--device", "cuda:128", "cuda:128: GPUs are numbered from 0 to 127"),
        ("--device", "cuda:²", "'cuda:²' is none of auto, cpu, cuda, cuda:N, mps, xla"),
    ],
)
def test_a_number_out_of_bounds(flag, value, problem):
    with pytest.raises(UsageError) as raised:
        build_parser().parse_args([f"{flag}={value}"])
    assert str(raised.value).partition(": ")[2] == f"{problem} (see python -m app.train --help)"


def test_numbers_at_their_bounds():
    words = "--aug-mult 4.9 --wd 0 --lr 3e38 --img-size 8 --workers 256 --seed 4294967295 --device cuda:007"
    args = build_parser().parse_args(words.split())
    assert (args.aug_mult, args.wd, args.lr, args.img_size, args.workers) == (4.9, 0, 3e38, 8, 256)
    assert (args.seed, args.device) == (2**32 - 1, "cuda:7")


def test_a_reader_that_has_seen_enough(tmp_path):
    script = "import sys; from app.errors import run; sys.exit(run(lambda argv: print('x\\n' * 10**6) or 0))"
    process = subprocess.Popen(
        [sys.executable, "-c", script], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout.readline() == b"x\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=60) == 1


def test_a_name_that_colours_the_terminal(capsys):
    def main(argv):
        raise FileNotFoundError(2, "No such file or directory", "a\x1b[31m\nb.pkl")

    assert run(main, []) == 2
    assert capsys.readouterr().err == "error: a\\x1b[31m\\nb.pkl: No such file or directory\n"


def test_a_loop_of_links(tmp_path, capsys):
    (tmp_path / "loop").symlink_to("loop")

    def main(argv):
        from app.outputs import written

        with written(tmp_path / "loop"):
            raise AssertionError("not reached")

    assert run(main, []) == 2
    assert capsys.readouterr().err == f"error: {tmp_path}/loop: Too many levels of symbolic links\n"


def test_every_size_that_can_be_trained_can_be_loaded():
    from models.description import LARGEST_SIDE

    assert IMAGE_SIZES[1] <= LARGEST_SIDE
