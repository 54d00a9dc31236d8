"""Runs of `app.train` that are killed or kept from writing, each in a process of its own.

    with ForkedRuns(folder) as runs:                        # where the commands run
        runs.train("photos", "--epochs", 3)                 # Run(code=0, said="...", seconds=1.2)
        runs.train("photos", "--epochs", 3, kill_after=0.5)
        runs.train("photos", "--epochs", 3, kill_said="2  unfrozen")
        runs.train("--resume", "runs/x", limit=4000)        # no file may become larger: as on a full disk

The processes are forked from one that has imported fastai and computed nothing yet, so that each starts at once.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).resolve().parent.parent.parent
POLL = 0.005  # seconds
SAID = Path("said.txt")


class Run(NamedTuple):
    """How a run ended: exit code, negative for a signal; what it wrote to both streams; and how long it took."""

    code: int
    said: str
    seconds: float


class ForkedRuns:
    """The process that the runs are forked from."""

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(PROJECT)}
        command = [sys.executable, __file__]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, cwd=self.folder, env=environment, stdin=pipe, stdout=pipe, text=True, start_new_session=True
        )
        return self

    def __exit__(self, *exception):
        self._process.stdin.close()
        self._process.wait()

    def train(self, *argv, kill_after=None, kill_said=None, number=signal.SIGKILL, limit=None):
        """Run the command; send it `number` after some seconds, or once it has said something."""
        options = {"kill_after": kill_after, "kill_said": kill_said, "number": int(number), "limit": limit}
        print(json.dumps({"argv": [str(word) for word in argv], **options}), file=self._process.stdin, flush=True)
        return Run(**json.loads(self._process.stdout.readline()))


def serve():
    """Run what is asked for on standard input, one after the other."""
    import torch

    import app.dry_run
    import app.fitting
    import app.speed  # noqa: F401

    torch.set_num_threads(1)
    for line in sys.stdin:
        print(json.dumps(fork(**json.loads(line))), flush=True)


def fork(argv, kill_after, kill_said, number, limit):
    """Run one command in a child."""
    started = time.monotonic()
    SAID.write_text("")
    child = os.fork()
    if not child:
        run_in_child(argv, limit)
    code = None
    while code is None:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
        elif kill_after is not None and time.monotonic() - started > kill_after:
            os.kill(child, number)
            kill_after = None
        elif kill_said is not None and kill_said in SAID.read_text():
            os.kill(child, number)
            kill_said = None
        time.sleep(POLL)
    return {"code": code, "said": SAID.read_text(), "seconds": time.monotonic() - started}


def run_in_child(argv, limit):
    from app.errors import run
    from app.train import main

    stream = os.open(SAID, os.O_WRONLY | os.O_APPEND)
    os.dup2(stream, 1)
    os.dup2(stream, 2)
    sys.stdout, sys.stderr = os.fdopen(1, "w", buffering=1), os.fdopen(2, "w", buffering=1)
    code = 99
    try:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        code = run(main, argv)
    finally:
        os._exit(code)


if __name__ == "__main__":
    serve()
