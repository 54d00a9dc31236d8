"""The commands start quickly, take no abbreviations, and work wherever the user stands.

python -m pytest tests/app/test_startup.py
"""

import subprocess
import sys

import pytest

from app import predict, train

COMMANDS = ("train", "predict", "evaluate", "export", "audit", "devices", "benchmark")
HEAVY = "{'torch', 'torchvision', 'timm', 'fastai', 'tensorboard', 'matplotlib', 'pandas', 'scipy', 'yaml'}"
every_command = pytest.mark.parametrize("command", COMMANDS)


def python(*arguments, cwd):
    return subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, encoding="utf-8", timeout=120
    )


@every_command
def test_help_imports_nothing_heavy(command, tmp_path):
    script = f"""
import sys
from app import {command}
try:
    {command}.main(["--help"])
except SystemExit as done:
    assert done.code == 0
print(sorted({HEAVY} & set(sys.modules)))
"""
    done = python("-c", script, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: python -m app.{command} ")
    assert done.stdout.splitlines()[-1] == "[]"


@every_command
def test_a_wrong_flag_imports_nothing_heavy(command, tmp_path):
    script = f"""
import sys
from app import {command}
from app.errors import run
assert run({command}.main, ["x", "y", "--nonsense"]) == 2
print(sorted({HEAVY} & set(sys.modules)))
"""
    assert python("-c", script, cwd=tmp_path).stdout == "[]\n"


@pytest.mark.parametrize(
    ("command", "words", "meant"),
    [
        (train, "photos --epoch 3", "--epochs"),
        (train, "photos --batch 4", "--batch-size"),
        (predict, "model.pkl a.jpg --top 3", "--topk"),
    ],
)
def test_a_flag_is_not_abbreviated(command, words, meant, call):
    flag = words.split("--")[1]
    name = command.__name__
    assert call(command.main, *words.split()) == (
        2,
        "",
        f"error: unrecognized arguments: --{flag}, did you mean {meant}? (see python -m {name} --help)\n",
    )


@pytest.fixture
def shadowing(tmp_path):
    """A folder whose own modules have the names of ours, and fail when they are imported."""
    for file in ("data/__init__.py", "models/__init__.py", "callbacks.py", "data.py"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("raise RuntimeError('the wrong one')\n")
    return tmp_path


def test_modules_where_the_user_stands_do_not_hide_ours(shadowing, colours_once, model):
    done = python("-m", "app.predict", model, colours_once / "valid" / "red" / "0.jpg", cwd=shadowing)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{colours_once}/valid/red/0.jpg: red ")


def test_all_of_ours_are_ours(shadowing):
    script = "from app import train; import data, models, callbacks; print(data.__file__)"
    done = python("-c", script, cwd=shadowing)
    assert done.stderr == ""
    assert str(shadowing) not in done.stdout
