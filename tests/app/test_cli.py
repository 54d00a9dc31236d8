"""The console script.

python -m pytest tests/app/test_cli.py
"""

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from app import cli

USAGE = """usage: fastsight COMMAND ...

  fastsight train     train a classifier and export it
  fastsight predict   predict the class of images
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
