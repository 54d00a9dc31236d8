"""Equal runs for equal settings.

python -m pytest tests/app/test_determinism.py
"""

import os
import random

import numpy as np
import pytest
import torch

from app.determinism import WORKSPACE, repeatable


@pytest.fixture(autouse=True)
def restored(monkeypatch):
    """What is set for the whole process, put back after the test."""
    monkeypatch.delenv(WORKSPACE[0], raising=False)
    cudnn = torch.backends.cudnn
    before = torch.are_deterministic_algorithms_enabled(), cudnn.deterministic, cudnn.benchmark
    yield
    os.environ.pop(WORKSPACE[0], None)
    torch.use_deterministic_algorithms(before[0])
    cudnn.deterministic, cudnn.benchmark = before[1:]


def draws():
    return random.random(), np.random.random(), torch.rand(1).item()


@pytest.mark.parametrize("seed", [0, 42, 2**32 - 1])
def test_every_generator_is_seeded(seed):
    repeatable(seed)
    first = draws()
    assert draws() != first
    repeatable(seed)
    assert draws() == first


@pytest.mark.parametrize("everywhere", [False, True])
def test_what_is_set(everywhere):
    torch.backends.cudnn.benchmark = True
    repeatable(1, everywhere)
    assert torch.are_deterministic_algorithms_enabled() == everywhere
    assert os.environ.get(WORKSPACE[0]) == (WORKSPACE[1] if everywhere else None)
    assert (torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark) == (True, False)


def test_a_workspace_that_the_user_has_set_stays(monkeypatch):
    monkeypatch.setenv(WORKSPACE[0], ":16:8")
    repeatable(1, everywhere=True)
    assert os.environ[WORKSPACE[0]] == ":16:8"
