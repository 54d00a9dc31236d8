"""Scripts that run on the real XLA runtime of the CPU, each in a process of its own, for all tests that ask of it.

def test_something(on_xla):
    found = on_xla("training")              # what scripts/training.py printed last, as JSON
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parent / "scripts"
PROJECT = SCRIPTS.parents[3]
SECONDS = 900
# Compiling for speed takes longer than all else that is done here.
QUICK = {"XLA_FLAGS": "--xla_backend_optimization_level=0"}


@pytest.fixture(scope="session")
def on_xla(tmp_path_factory):
    """Run ``scripts/<name>.py`` on so many devices, once a session: the JSON on the last line of its output."""
    pytest.importorskip("torch_xla")
    known = {}

    def on_xla(name, *arguments, devices=1):
        key = name, arguments, devices
        if key not in known:
            environment = os.environ | QUICK | {"PJRT_DEVICE": "CPU", "CPU_NUM_DEVICES": str(devices)}
            environment |= {"PYTHONPATH": str(PROJECT), "OMP_NUM_THREADS": "1"}
            done = subprocess.run(
                [sys.executable, SCRIPTS / f"{name}.py", *arguments],
                cwd=tmp_path_factory.mktemp(name),
                env=environment,
                capture_output=True,
                text=True,
                timeout=SECONDS,
            )
            assert done.returncode == 0, done.stderr[-4000:]
            known[key] = json.loads(done.stdout.splitlines()[-1])
        return known[key]

    return on_xla
