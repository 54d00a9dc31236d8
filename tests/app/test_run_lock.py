"""One process at a time in a run folder.

python -m pytest tests/app/test_run_lock.py
"""

import os
import signal
import subprocess
import sys

import pytest

from app.errors import UsageError
from app.run_lock import LOCK, hold

pytest.importorskip("fcntl")

# Holds the folder, forks a child that lives on, and waits.
HOLDER = """
import os, sys, time
from pathlib import Path
from app.run_lock import hold

hold(Path(sys.argv[1]))
child = os.fork()
if child:
    print(child, flush=True)
time.sleep(60)
"""


def test_another_process_is_refused_until_the_first_is_killed(tmp_path):
    command = [sys.executable, "-c", HOLDER, tmp_path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        worker = int(process.stdout.readline())
        try:
            line = f"--resume {tmp_path}: process {process.pid} is still training there: wait for its end"
            with pytest.raises(UsageError) as raised:
                hold(tmp_path)
            assert str(raised.value) == line
            process.kill()
            process.wait()
            os.kill(worker, 0)  # a worker that outlives it holds nothing
            hold(tmp_path)
        finally:
            process.kill()
            os.kill(worker, signal.SIGKILL)
    assert (tmp_path / LOCK).read_text() == f"process {os.getpid()}"


def test_the_same_process_may_take_it_again(tmp_path):
    hold(tmp_path)
    hold(tmp_path / "." / ".." / tmp_path.name)
    assert (tmp_path / LOCK).read_text() == f"process {os.getpid()}"


def test_a_file_system_without_locks_refuses_nobody(tmp_path, monkeypatch):
    import fcntl

    def unsupported(*_):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "lockf", unsupported)
    hold(tmp_path)


def test_a_lock_that_leads_to_a_file_of_the_users(tmp_path):
    (tmp_path / "mine").write_text("precious")
    (tmp_path / LOCK).symlink_to("mine")
    with pytest.raises(UsageError) as raised:
        hold(tmp_path)
    assert str(raised.value) == f"--resume {tmp_path}: .lock there is no file of its own: remove it"
    assert (tmp_path / "mine").read_text() == "precious"


def test_a_lock_that_is_a_pipe(tmp_path):
    os.mkfifo(tmp_path / LOCK)
    with pytest.raises(UsageError, match=r": \.lock there is no file of its own: remove it$"):
        hold(tmp_path)
