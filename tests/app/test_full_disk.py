"""A disk that is full, or not to be written: one line, and what was there before is whole.

python -m pytest tests/app/test_full_disk.py

Where no file system may be mounted, which takes root, all is skipped.
"""

import os
import shutil
import signal
import subprocess

import pytest
from safetensors.torch import load_file

from callbacks.checkpoint_file import read_checkpoint
from tests.app.forked_runs import ForkedRuns

NETWORK = """
from torch import nn

def wide(classes):
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(),
        nn.Linear(128, 500), nn.Linear(500, classes),
    )
"""
ARGV = ("colours", "--arch", "wide:wide", "--img-size", 32, "--batch-size", 8, "--epochs", 3)
ROOM = 200_000  # bytes: enough for settings and events, not for the weights, of which there are 260 kB


@pytest.fixture(scope="module")
def place(tmp_path_factory, colours_once):
    """Where the commands run, with a disk of 16 MB in ``disk``."""
    folder = tmp_path_factory.mktemp("place")
    shutil.copytree(colours_once, folder / "colours")
    (folder / "wide.py").write_text(NETWORK)
    (folder / "disk").mkdir()
    try:
        command = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", folder / "disk"]
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("no file system may be mounted here")
    yield folder
    subprocess.run(["umount", "-l", folder / "disk"], check=True)


@pytest.fixture(scope="module")
def runs(place):
    with ForkedRuns(place) as runs:
        yield runs


@pytest.fixture(scope="module")
def whole(runs, place):
    """A finished run, on another disk."""
    run = runs.train(*ARGV, "--output", "whole", "--export", "whole.pkl")
    assert run.code == 0, run.said
    (folder,) = (place / "whole").iterdir()
    return folder


def fill(disk):
    """Leave `ROOM`; return the file that takes the rest."""
    free = os.statvfs(disk)
    (disk / "filler").write_bytes(bytes(free.f_bavail * free.f_frsize - ROOM))
    return disk / "filler"


def test_full_at_a_checkpoint(runs, place):
    run = runs.train(*ARGV, "--epochs", 30, "--output", "disk/runs", kill_said="\n    1  unfrozen")
    assert run.code == -signal.SIGKILL, run.said
    (folder,) = (place / "disk" / "runs").iterdir()
    name, last = f"disk/runs/{folder.name}", folder / "checkpoints" / "last.pth"
    before = last.read_bytes()
    filler = fill(place / "disk")
    run = runs.train("--resume", name)
    filler.unlink()
    assert run.code == 1
    assert "Traceback" not in run.said
    assert run.said.splitlines()[-2:] == [
        f"to go on: python -m app.train --resume {name}",
        f"error: {name}/checkpoints/last.pth: No space left on device",
    ]
    assert last.read_bytes() == before
    assert read_checkpoint(last)["classes"] == ["blue", "red"]
    run = runs.train("--resume", name, kill_said="\n    4  unfrozen")
    assert run.code == -signal.SIGKILL, run.said
    shutil.rmtree(folder.parent)


def test_full_at_the_export(runs, place, whole):
    disk = place / "disk"
    for suffix in (".pkl", ".safetensors", ".json"):
        shutil.copy(place / f"whole{suffix}", disk / f"model{suffix}")
    before = {path: path.read_bytes() for path in disk.glob("model.*")}
    filler = fill(disk)
    run = runs.train("--resume", f"whole/{whole.name}", "--export", "disk/model.pkl")
    filler.unlink()
    assert run.code == 1
    assert run.said.splitlines()[-1] == (
        f"error: disk/model.pkl: No space left on device (the model is safe in whole/{whole.name}/model.pkl)"
    )
    assert {path: path.read_bytes() for path in disk.iterdir()} == before
    assert load_file(whole / "model.safetensors")


def test_not_to_be_written(runs, place, whole):
    disk = place / "disk"
    shutil.copytree(whole, disk / "run")
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    try:
        run = runs.train(*ARGV, "--output", "disk/runs")
        assert (run.code, run.said) == (2, f"error: --output: {disk} cannot be written: choose another place\n")
        run = runs.train(*ARGV, "--export", "disk/new.pkl")
        assert (run.code, run.said) == (2, f"error: --export: {disk} cannot be written: choose another place\n")
        run = runs.train("--resume", "disk/run")
        assert (run.code, run.said) == (2, f"error: {disk}/run/.lock: Read-only file system\n")
    finally:
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
