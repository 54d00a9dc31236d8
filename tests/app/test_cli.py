"""The console script.

python -m pytest tests/app/test_cli.py
"""

import os
import subprocess
import sys
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest

from app import cli

USAGE = """usage: fastsight COMMAND ...

  fastsight train     train a classifier and export it
  fastsight predict   predict the class of images
  fastsight evaluate  measure how good a model is on labelled images
  fastsight runs      list the runs of a folder
  fastsight export    write a trained model in another form
  fastsight audit     say what is wrong with a data set
  fastsight devices   report what there is to train on, and what pays there
  fastsight benchmark compare two ways to train

fastsight COMMAND --help tells more
"""


def fastsight(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["fastsight", *map(str, words)])
    return cli.main()


def test_help(monkeypatch, capsys):
    assert fastsight(monkeypatch, "--help") == 0
    assert capsys.readouterr() == (USAGE, "")


def test_version(monkeypatch, capsys):
    assert fastsight(monkeypatch, "--version") == 0
    assert capsys.readouterr() == (f"fastsight {version('fastsight')}\n", "")


def test_python_m_app_is_the_same(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(Path(cli.__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-m", "app", "--help"], cwd=tmp_path, env=environment, capture_output=True)
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, USAGE, b"")


@pytest.mark.parametrize(
    ("flag", "answer"),
    [
        ("--epoch=3", "did you mean --epochs?"),
        ("--batchsize", "did you mean --batch-size?"),
        ("--zoom", None),
    ],
)
def test_a_misspelt_flag(monkeypatch, capsys, flag, answer):
    assert fastsight(monkeypatch, "train", "photos", flag) == 2
    said = f"unrecognized arguments: {flag}" + (f", {answer}" if answer else "")
    assert capsys.readouterr() == ("", f"error: {said} (see python -m app.train --help)\n")


@pytest.mark.parametrize(
    ("words", "line"),
    [((), "no command given"), (("serve",), "unknown command 'serve'"), (("-v",), "unknown command '-v'")],
)
def test_a_command_that_is_not_there(monkeypatch, capsys, words, line):
    assert fastsight(monkeypatch, *words) == 2
    assert capsys.readouterr() == ("", f"error: {line}\n{USAGE}")


def test_it_predicts(monkeypatch, capsys, model, colours_once):
    assert fastsight(monkeypatch, "predict", model, colours_once / "valid" / "blue" / "0.jpg", "--format", "csv") == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[1].split(",")[1] == "blue"
    assert err == ""


def test_an_error_of_a_command_is_one_line(monkeypatch, capsys):
    assert fastsight(monkeypatch, "predict", "nosuch.pkl", "a.jpg") == 2
    assert capsys.readouterr() == ("", "error: nosuch.pkl: no such file, give an exported model.pkl\n")


def test_it_is_installed_under_its_name(tmp_path):
    (script,) = entry_points(group="console_scripts", name="fastsight")
    assert script.load() is cli.main
    start = f"import sys; from {script.module} import main; sys.argv[0] = 'fastsight'; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", start, "train", "--nonsense"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: unrecognized arguments: --nonsense (see python -m app.train --help)\n"


def shell(line, cwd):
    """Run a line of bash in which ``fastsight`` is the console script."""
    start = f'{sys.executable} -c "import sys; from app.cli import main; sys.exit(main())"'
    environment = {**os.environ, "PYTHONPATH": str(Path(cli.__file__).parent.parent), "PYTHONUNBUFFERED": ""}
    return subprocess.run(
        ["bash", "-c", f'set -o pipefail; fastsight() {{ {start} "$@"; }}; {line}'],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    "words", ["--help", "train --help", "audit --help", "nosuch 2>&1", "train --nonsense 2>&1", "predict --help"]
)
def test_nothing_is_said_to_a_reader_that_has_gone(words, tmp_path):
    done = shell(f"(sleep 0.5; fastsight {words}) | true", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


@pytest.mark.parametrize(
    ("line", "code", "out", "err"),
    [
        ("fastsight --help 2>&-", 0, USAGE, ""),
        ("fastsight --help >&-", 0, "", ""),
        ("fastsight nosuch 2>&-", 2, "", ""),
        ("fastsight nosuch >&-", 2, "", f"error: unknown command 'nosuch'\n{USAGE}"),
        ("fastsight --help <&- >&- 2>&-", 0, "", ""),
        ("fastsight --help > /dev/full", 1, "", "error: standard output: No space left on device\n"),
    ],
)
def test_streams_that_are_closed_or_full(line, code, out, err, tmp_path):
    done = shell(line, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (code, out, err)


def test_what_runs_before_ctrl_c_is_caught_is_light():
    script = "import sys; import app.cli; print(sorted({'numpy', 'PIL', 'yaml', 'argparse'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], cwd=Path(cli.__file__).parent.parent, capture_output=True)
    assert (done.stdout, done.stderr) == (b"[]\n", b"")


def test_ctrl_c_while_a_command_is_imported(monkeypatch, capsys):
    def interrupt(name):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "import_module", interrupt)
    assert fastsight(monkeypatch, "train", "photos") == 130
    assert capsys.readouterr() == ("", "interrupted\n")
