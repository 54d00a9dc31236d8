"""A file is complete or not there.

python -m pytest tests/callbacks/test_whole_file.py
"""

import os
import signal
import subprocess
import sys

import pytest

from callbacks.whole_file import sweep, whole_file

WRITER = """
import sys, time
from pathlib import Path
from callbacks.whole_file import whole_file
with whole_file(Path(sys.argv[1])) as partial, partial.open("w") as stream:
    stream.write("half")
    stream.flush()
    print("now", flush=True)
    time.sleep(60)
"""


def test_it_appears_when_it_is_whole(tmp_path):
    path = tmp_path / "file"
    with whole_file(path) as partial:
        partial.write_text("whole")
        assert not path.exists()
    assert path.read_text() == "whole"
    assert os.listdir(tmp_path) == ["file"]


def test_it_is_flushed_before_it_is_renamed(tmp_path, monkeypatch):
    order = []
    flush, rename = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda descriptor: order.append("flush") or flush(descriptor))
    monkeypatch.setattr(os, "replace", lambda *paths: order.append("rename") or rename(*paths))
    with whole_file(tmp_path / "file") as partial:
        partial.write_text("whole")
    assert order == ["flush", "rename", "flush"]


def test_a_failure_leaves_what_was_there(tmp_path):
    path = tmp_path / "file"
    path.write_text("before")
    with pytest.raises(ZeroDivisionError), whole_file(path) as partial:
        partial.write_text(f"half{1 / 0}")
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["file"]


def test_a_kill_leaves_what_was_there_and_a_leftover_that_is_swept(tmp_path):
    path = tmp_path / "file"
    path.write_text("before")
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
    process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert path.read_text() == "before"
    assert sorted(os.listdir(tmp_path)) == [f".{process.pid}.partial", "file"]
    sweep(tmp_path)
    assert os.listdir(tmp_path) == ["file"]
