"""Learners of any architecture, on loaders that nothing is read from."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

import models


@pytest.fixture(scope="session")
def build():
    """`build(arch, side, ...)`: the Learner and its spec, for images of `side` pixels and three classes."""
    from fastai.data.core import DataLoader, DataLoaders

    def build(
        arch,
        side=32,
        *,
        pretrained=False,
        probe=False,
        image_size=None,
        classes=("ant", "bee", "wasp"),
        stats=None,
        **options,
    ):
        scan = SimpleNamespace(side=side, classes=list(classes), stats=stats)
        spec = models.spec(arch, scan, image_size=image_size, pretrained=pretrained)
        if probe:  # also where the weights would have to be fetched
            spec = replace(spec, probe=True)
        loader = DataLoader([(torch.zeros(3, 8, 8), 0)] * 4, bs=2)
        return models.learner(DataLoaders(loader, loader), spec, **options), spec

    return build
