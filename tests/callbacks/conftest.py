"""A Learner that trains in a moment: 24 points of four numbers, two classes, two parameter groups."""

import fastai.callback.schedule  # noqa: F401  gives Learner fit_one_cycle and lr_find
import pytest
import torch
from fastai.data.core import DataLoader, DataLoaders
from fastai.learner import Learner
from fastai.losses import CrossEntropyLossFlat
from fastai.metrics import accuracy
from torch import nn

TRAIN, VALID, BATCH = 24, 12, 6


def body_and_head(model):
    return [list(layer.parameters()) for layer in model if list(layer.parameters())]


@pytest.fixture
def make_learner(tmp_path):
    def make_learner(metrics=accuracy, cbs=()):
        torch.manual_seed(0)
        points = torch.randn(TRAIN + VALID, 4)
        items = [(x, int(x[0] > 0)) for x in points]
        loaders = DataLoaders(DataLoader(items[:TRAIN], bs=BATCH), DataLoader(items[TRAIN:], bs=BATCH))
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        learn = Learner(
            loaders,
            model,
            loss_func=CrossEntropyLossFlat(),
            metrics=metrics,
            splitter=body_and_head,
            path=tmp_path,
            cbs=list(cbs),
        )
        learn.remove_cb(learn.progress)
        learn.logger = lambda row: None
        return learn

    return make_learner
