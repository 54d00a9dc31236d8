"""Scores of noise in which the true class stands out a little."""

import pytest
import torch

import data
from app.evaluation.scores import Scores


@pytest.fixture
def noisy_scores():
    """Return a function: `images` of `classes`, of which the last `absent` have none."""

    def make(images=40, classes=8, absent=0):
        generator = torch.Generator().manual_seed(0)
        targets = torch.randint(0, classes - absent, (images,), generator=generator)
        logits = torch.randn(images, classes, generator=generator)
        logits[range(images), targets] += 1
        names = [f"class {index}" for index in range(classes)]
        return Scores(logits, targets, names, [data.Sample(None, "")] * images)

    return make
