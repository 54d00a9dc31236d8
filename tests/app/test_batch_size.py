"""Batches that fit: probed, halved when memory runs out, accumulated.

python -m pytest tests/app/test_batch_size.py
"""

import csv

import pytest
import torch
import yaml
from torch import nn

from app.batch_size import is_out_of_memory, largest_batch


def settings_of(folder):
    return yaml.safe_load((folder / "args.yaml").read_text())


@pytest.mark.parametrize(
    ("free", "limit", "expected"), [(1000, 10_000, 64), (1000, 40, 32), (10**9, 10**9, 1024), (1, 100, 8), (1000, 5, 5)]
)
def test_the_largest_power_of_two_that_fits(free, limit, expected):
    """A step takes 10 bytes an image, and 80% of the free memory may be used."""
    tried = []

    def step(size):
        tried.append(size)
        return 10 * size

    assert largest_batch(step, free, limit) == expected
    assert tried == sorted(set(tried))


def test_running_out_of_memory_ends_the_search():
    def step(size):
        if size > 32:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return 0

    assert largest_batch(step, 1000, 1000) == 32


def test_what_counts_as_out_of_memory():
    assert is_out_of_memory(torch.OutOfMemoryError("x"))
    assert is_out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"))
    assert not is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))


@pytest.fixture
def small_memory(monkeypatch):
    """Return a function that lets the convolution fail for more than so many images in training."""

    def small_memory(images):
        forward = nn.Conv2d.forward

        def limited(self, x):
            if self.training and len(x) > images:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate much")
            return forward(self, x)

        monkeypatch.setattr(nn.Conv2d, "forward", limited)

    return small_memory


PLAIN = ("--batch-size", 24, "--amp", "off", "--memory-format", "contiguous", "--compile", "off")  # nothing is measured


def test_the_batch_is_halved_until_it_fits_and_accumulated(colours, train, small_memory):
    small_memory(7)
    result, folder = train(colours, "--epochs", 2, *PLAIN)
    assert result.code == 0, result.err
    warnings = [line for line in result.err.splitlines() if "out of memory" in line]
    assert warnings == [
        "warning: out of memory with batches of 24: going on with 12, 2 of them for a step",
        "warning: out of memory with batches of 12: going on with 6, 4 of them for a step",
    ]
    kept = settings_of(folder)
    assert (kept["batch_size"], kept["accumulate"]) == (6, 4)
    with (folder / "results.csv").open(newline="") as file:
        assert [row["epoch"] for row in csv.DictReader(file)] == ["1", "2"]


def test_epochs_that_were_done_are_not_done_again(colours, train, monkeypatch):
    calls = []
    forward = nn.Conv2d.forward

    def fails_in_the_second_epoch(self, x):
        if self.training and self.in_channels == 3:
            calls.append(len(x))
            if calls == [24, 24]:  # a step an epoch
                raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(self, x)

    monkeypatch.setattr(nn.Conv2d, "forward", fails_in_the_second_epoch)
    result, folder = train(colours, "--epochs", 3, *PLAIN)
    assert result.code == 0, result.err
    assert calls == [24, 24, 12, 12, 12, 12]
    with (folder / "results.csv").open(newline="") as file:
        assert [row["epoch"] for row in csv.DictReader(file)] == ["1", "2", "3"]


def test_when_nothing_fits_it_ends_in_one_line(colours, train, small_memory):
    small_memory(1)
    result, _ = train(colours, "--epochs", 2, *PLAIN)
    assert result.code == 1
    assert result.err.splitlines()[-1].endswith("(lower --batch-size or --img-size)")


def test_accumulation_as_asked(colours, train):
    result, folder = train(colours, "--epochs", 1, "--batch-size", 6, "--accumulate", 2)
    assert result.code == 0, result.err
    assert settings_of(folder)["accumulate"] == 2


def test_auto_on_a_cpu_is_the_architectures(colours, train):
    result, folder = train(colours, "--epochs", 1, "--batch-size", "auto", "--device", "cpu")
    assert result.code == 0, result.err
    assert settings_of(folder)["batch_size"] == 24
    assert "batch size: 24 (by architecture: memory is probed on CUDA GPUs alone)" in result.err
