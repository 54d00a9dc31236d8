"""The study: its experiments, files, and what it says of them.

python -m pytest tests/app/test_benchmark.py
"""

import csv

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from app import benchmark, study
from app.study_report import break_even, comparison
from app.synthetic import noise
from callbacks.compile import CompileForward

QUICK = "--arch resnet20_cifar --img-size 16 --batch-size 8 --epochs 2 --runs 2 --device cpu".split()  # noqa: SIM905


@pytest.fixture
def eager_back_end(monkeypatch):
    monkeypatch.setattr(study, "CompileForward", lambda: CompileForward(backend="eager"))


def rows(file):
    with file.open(newline="") as opened:
        return list(csv.DictReader(opened))


def test_four_experiments_on_noise(call, here, eager_back_end):
    result = call(benchmark.main, "--synthetic", 16, *QUICK)
    assert result.code == 0, result.err
    (folder,) = (here / "runs").iterdir()
    experiments = [f"{layout}-{name}" for layout in ("single", "repeated") for name in ("eager", "compiled")]
    for experiment in experiments:
        (whole,) = (file for file in folder.glob(f"{experiment}-*cpu.csv"))
        (mean,) = folder.glob(f"{experiment}-*cpu-mean.csv")
        runs = 1 if experiment.startswith("single") else 2
        assert [(row["run"], row["epoch"]) for row in rows(whole)] == [
            (str(run), str(epoch)) for run in range(1, runs + 1) for epoch in (1, 2)
        ]
        assert [row["epoch"] for row in rows(mean)] == ["1", "2"]
        events = list((folder / experiment).glob("events.out.tfevents.*"))
        assert len(events) == 1
        tags = EventAccumulator(str(events[0])).Reload().Tags()
        assert "hparam/train_seconds" in tags["scalars"]
    assert (folder / "epoch_times.png").stat().st_size > 5000
    assert "compiling: 2 graphs, 0 breaks" in result.out  # compiled once, used for all runs
    assert "single: compiled against eager: train " in result.out
    assert "break-even: " in result.out


@pytest.mark.parametrize("comparison", ["amp", "channels-last"])
def test_other_comparisons_on_a_folder(call, here, colours, comparison):
    result = call(benchmark.main, colours, *QUICK, "--runs", 1, "--compare", comparison)
    assert result.code == 0, result.err
    assert f"single: {'bf16 against float32' if comparison == 'amp' else 'channels_last against'}" in result.out


def test_an_interrupted_study_keeps_what_it_has(call, here, monkeypatch):
    run_once = study.Study._run_once

    def interrupted(self, experiment, name, number):
        if experiment == "repeated bf16":
            raise KeyboardInterrupt
        run_once(self, experiment, name, number)

    monkeypatch.setattr(study.Study, "_run_once", interrupted)
    result = call(benchmark.main, "--synthetic", 16, *QUICK, "--compare", "amp")
    assert result.code == 130
    (folder,) = (here / "runs").iterdir()
    assert len(list(folder.glob("*.csv"))) == 2 * 3
    assert (folder / "epoch_times.png").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "give a SOURCE, or --synthetic N"),
        ("photos --synthetic 8", "give a SOURCE, or --synthetic N"),
        ("--synthetic 8 --epochs 1", "--epochs 1: the first epoch warms up, two or more are needed"),
        ("--synthetic 8 --batch-size 1", "--batch-size 1: batch normalisation needs two images or more"),
    ],
)
def test_refusals(call, words, message):
    assert call(benchmark.main, *words.split()) == (2, "", f"error: {message}\n")


def made(first, rest, epochs=4):
    seconds = [first] + [rest] * (epochs - 1)
    return [{"run": 1, "epoch": 1 + n, "train_seconds": s, "valid_seconds": 0.0} for n, s in enumerate(seconds)]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (made(10, 10), made(40, 8), "break-even: epoch 16"),
        (made(10, 10), made(9, 8), "break-even: from the first epoch on"),
        (made(10, 10), made(40, 10), "break-even: never, an epoch is not faster"),
    ],
)
def test_break_even(before, after, said):
    assert break_even(before, after) == said


def test_differences_leave_out_the_first_epoch():
    lines = comparison({"single eager": made(99, 10), "single compiled": made(199, 8)}, ("eager", "compiled"), NoGraphs)
    assert "single: compiled against eager: train -20.0%, valid +nan%" in lines
    assert lines[1].split() == ["single", "eager", "10.000", "0.000", "99.000"]


class NoGraphs:
    graphs = 0


def test_noise_is_the_same_each_time():
    first, again = (noise(20, 8, 4, torch.device("cpu")) for _ in range(2))
    assert torch.equal(first.train_ds[3][0], again.train_ds[3][0])
    assert (len(first.train_ds), len(first.valid_ds)) == (20, 4)
