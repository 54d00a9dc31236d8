"""A run that is killed and resumed ends as one that was not: the same losses, the same weights.

python -m pytest tests/app/test_resume.py
"""

import csv
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import zipfile

import pytest
import torch
from safetensors.torch import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from app.run_lock import LOCK
from callbacks.checkpoint_file import read_checkpoint
from tests.app.forked_runs import PROJECT, ForkedRuns

NETWORK = """
from torch import nn

def small(classes):
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, 2), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.2),
        nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, classes),
    )
"""
SMALL = ("colours", "--arch", "net:small", "--img-size", 32, "--batch-size", 8, "--epochs", 4)
FINE_TUNING = ("colours", "--arch", "tf_efficientnet_lite0", "--img-size", 32, "--batch-size", 12)
FINE_TUNING += ("--freeze-epochs", 1, "--epochs", 3)
VARYING = ("train_seconds", "valid_seconds", "images_per_second", "data_wait", "warmup")
ROOM = 4000  # bytes: enough for the settings, not for a checkpoint or a model


@pytest.fixture(scope="module")
def place(tmp_path_factory, colours_once):
    """Where the commands run: the photos and a small network."""
    folder = tmp_path_factory.mktemp("place")
    shutil.copytree(colours_once, folder / "colours")
    (folder / "net.py").write_text(NETWORK)
    return folder


@pytest.fixture(scope="module")
def runs(place):
    with ForkedRuns(place) as runs:
        yield runs


class Trained:
    """What a run has left: its folder, and the lines of the command."""

    def __init__(self, place, output):
        (self.folder,) = (place / output).iterdir()

    @property
    def name(self):
        """The run folder from where the command runs."""
        return f"{self.folder.parent.name}/{self.folder.name}"

    def checkpoint(self):
        return read_checkpoint(self.folder / "checkpoints" / "last.pth")

    def done(self):
        """Epochs that the checkpoint holds."""
        return len(self.checkpoint()["callbacks"]["epoch_timer"]["rows"])

    def weights(self):
        return self.checkpoint()["model"]

    def exported(self):
        return load_file(self.folder / "model.safetensors")

    def rows(self):
        with (self.folder / "results.csv").open(newline="") as file:
            return [{name: row[name] for name in row if name not in VARYING} for row in csv.DictReader(file)]

    def points(self, tag):
        events = EventAccumulator(str(self.folder)).Reload().Scalars(tag)
        return [(event.step, event.value) for event in events]


def equal(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def assert_the_same(one, other):
    assert one.rows() == other.rows()
    assert equal(one.weights(), other.weights())
    assert equal(one.exported(), other.exported())
    for tag in ("train/loss", "train/loss_raw", "valid/loss", "valid/f1"):
        assert one.points(tag) == other.points(tag), tag


@pytest.fixture(scope="module")
def whole(runs, place):
    """A run that nothing has happened to."""
    run = runs.train(*SMALL, "--output", "whole")
    assert run.code == 0, run.said
    return Trained(place, "whole"), run.seconds


def killed_and_resumed(runs, place, output, argv, seconds, times):
    """Kill a run `times` at random moments, and let it end; what it has left, and the moments."""
    moments, begun = [], False
    while len(moments) < times:
        after = random.uniform(0.2, seconds)
        command = ("--resume", Trained(place, output).name) if begun else (*argv, "--output", output)
        run = runs.train(*command, kill_after=after)
        assert run.code in (-signal.SIGKILL, 0), run.said
        moments.append(round(after, 3))
        for file in [*(place / output).glob("*/*.pkl"), *(place / output).glob("*/checkpoints/*.pth")]:
            with zipfile.ZipFile(file) as archive:  # whole, whatever it is
                assert archive.testzip() is None
        begun = any((place / output).glob("*/args.yaml"))
        if not begun:
            shutil.rmtree(place / output, ignore_errors=True)
    command = ("--resume", Trained(place, output).name) if begun else (*argv, "--output", output)
    run = runs.train(*command)
    assert run.code == 0, (moments, run.said)
    return Trained(place, output), moments


def test_killed_twice_and_stopped_by_a_full_disk(runs, place, whole):
    run = runs.train(*SMALL, "--output", "killed", kill_said="\n    2  unfrozen")
    killed = Trained(place, "killed")
    assert run.code == -signal.SIGKILL
    before, done = killed.weights(), killed.done()
    run = runs.train("--resume", killed.name, limit=ROOM)
    assert run.code == 1
    assert run.said.splitlines()[-2:] == [
        f"to go on: python -m app.train --resume {killed.name}",
        f"error: {killed.name}/checkpoints/last.pth: File too large",
    ]
    assert equal(killed.weights(), before)
    assert killed.done() == done
    after = random.uniform(0.2, whole[1])
    runs.train("--resume", killed.name, kill_after=after)
    run = runs.train("--resume", killed.name)
    assert run.code == 0, (after, run.said)
    assert_the_same(killed, whole[0])
    assert not list(killed.folder.rglob(".*.partial"))


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_killed_twenty_times(runs, place, workers):
    argv = (*SMALL, "--workers", workers)
    run = runs.train(*argv, "--output", f"whole-{workers}")
    whole = Trained(place, f"whole-{workers}")
    for number in range(10):
        resumed, moments = killed_and_resumed(runs, place, f"killed-{workers}-{number}", argv, run.seconds, times=2)
        print(workers, moments)
        assert_the_same(resumed, whole)


@pytest.mark.slow
def test_killed_in_the_second_phase(runs, place):
    run = runs.train(*FINE_TUNING, "--output", "tuned")
    assert run.code == 0, run.said
    run = runs.train(*FINE_TUNING, "--output", "tuned-killed", kill_said="\n    3  unfrozen")
    killed = Trained(place, "tuned-killed")
    assert run.code == -signal.SIGKILL
    assert 3 <= killed.done() < 5  # the probe, the frozen epoch, and some of three
    run = runs.train("--resume", killed.name)
    assert run.code == 0, run.said
    assert_the_same(killed, Trained(place, "tuned"))


def test_the_same_seed_is_the_same_run_with_workers_too(runs, place):
    trained = []
    for output in ("one", "other"):
        run = runs.train(*SMALL, "--workers", 2, "--epochs", 1, "--balance", "sampler", "--output", output)
        assert run.code == 0, run.said
        trained.append(Trained(place, output))
    assert_the_same(*trained)


@pytest.mark.slow
def test_another_seed_is_another_run(runs, place, whole):
    runs.train(*SMALL, "--seed", 1, "--output", "seed")
    assert not equal(Trained(place, "seed").weights(), whole[0].weights())


def test_sigterm_ends_the_batch_and_saves(runs, place):
    run = runs.train(*SMALL, "--epochs", 300, "--output", "term", kill_said="\n    1  unfrozen", number=signal.SIGTERM)
    trained = Trained(place, "term")
    best = trained.checkpoint()["callbacks"]["keep_best"]["row"]["epoch"]
    assert run.code == 143
    assert run.said.splitlines()[-2:] == [
        f"interrupted: the best so far (epoch {best}) is in {trained.name}/model.pkl",
        f"to go on: python -m app.train --resume {trained.name}",
    ]
    assert trained.exported().keys() == trained.weights().keys()


def test_an_average_of_the_weights_goes_on(runs, place):
    argv = (*SMALL, "--ema", 0.9, "--amp", "bf16")
    run = runs.train(*argv, "--output", "averaged")
    assert run.code == 0, run.said
    run = runs.train(*argv, "--output", "averaged-killed", kill_said="\n    2  unfrozen")
    killed = Trained(place, "averaged-killed")
    assert run.code == -signal.SIGKILL
    run = runs.train("--resume", killed.name)
    assert run.code == 0, run.said
    assert_the_same(killed, Trained(place, "averaged"))
    average = killed.checkpoint()["callbacks"]["averaged_weights"]["weights"]
    assert not equal(average, killed.weights())


def test_what_is_still_training_is_not_taken_up(runs, place):
    output = ("--output", "two")
    process = subprocess.Popen(
        [sys.executable, "-m", "app.train", *map(str, SMALL), "--epochs", "9999", *output],
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(PROJECT)},
    )
    try:
        next(line for line in process.stdout if "1  unfrozen" in line)
        trained = Trained(place, "two")
        run = runs.train("--resume", trained.name)
        assert run.code == 2
        assert run.said == (
            f"error: --resume {trained.name}: process {process.pid} is still training there: wait for its end\n"
        )
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()
    run = runs.train("--resume", trained.name, kill_said="resumed after epoch")
    assert run.code == -signal.SIGKILL, run.said


def test_sigterm_before_the_training(runs, place):
    run = runs.train(*SMALL, "--output", "early", kill_said="device:", number=signal.SIGTERM)
    assert (run.code, run.said.splitlines()[-1]) == (143, "terminated")


@pytest.mark.parametrize(
    ("number", "code", "line"), [(signal.SIGTERM, 143, "terminated"), (signal.SIGINT, 130, "interrupted")]
)
def test_a_signal_during_the_last_evaluation(runs, place, number, code, line):
    run = runs.train(*SMALL, "--output", f"evaluated-{code}", kill_said="evaluation: ", number=number)
    trained = Trained(place, f"evaluated-{code}")
    assert run.code == code
    assert run.said.splitlines()[-2:] == [
        f"warning: the model is in {trained.name}/model.pkl, its evaluation is not complete",
        line,
    ]
    assert trained.exported().keys() == trained.weights().keys()


def test_a_full_disk_at_the_export(runs, place, whole):
    finished = whole[0]
    shutil.copy(finished.folder / "model.pkl", place / "earlier.pkl")
    before, exported = (place / "earlier.pkl").read_bytes(), finished.exported()
    run = runs.train("--resume", finished.name, "--export", "earlier.pkl", limit=ROOM)
    assert run.code == 1
    assert run.said.splitlines()[-1].startswith("error: ")
    assert "Traceback" not in run.said
    assert (place / "earlier.pkl").read_bytes() == before
    assert equal(finished.exported(), exported)
    assert [path.name for path in finished.folder.iterdir() if path.name.startswith(".")] == [LOCK]


def test_a_finished_run_is_exported_again(runs, whole, place):
    finished = whole[0]
    exported, rows = finished.exported(), finished.rows()
    (finished.folder / "model.pkl").unlink()
    run = runs.train("--resume", finished.name, "--export", "again.pkl")
    assert run.code == 0, run.said
    assert "resumed after epoch 4\n" in run.said
    assert re.search(r"\), \d+ s since it was resumed\n", run.said)
    assert equal(finished.exported(), exported)
    assert finished.rows() == rows
    assert 'alt="train batch"' in (finished.folder / "report.html").read_text()  # drawn before it was resumed
    assert (place / "again.pkl").exists()
