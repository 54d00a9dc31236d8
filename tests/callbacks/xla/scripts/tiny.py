"""A small convolutional Learner with two parameter groups, the same at every call."""

import threading
from contextlib import nullcontext

import fastai.callback.schedule  # noqa: F401  gives Learner fit_one_cycle and fine_tune
import torch
from fastai.data.core import DataLoader, DataLoaders
from fastai.learner import Learner
from fastai.losses import CrossEntropyLossFlat
from fastai.metrics import accuracy, error_rate
from torch import nn

BATCH, SIDE, CLASSES = 8, 12, 3


class Images:
    """Noise of `count` images, each class brighter by `step` than the one before; reading `broken` raises."""

    def __init__(self, count, seed, broken=None, step=1.0):
        generator = torch.Generator().manual_seed(seed)
        self.broken, self.reads = broken, 0
        noise = torch.randn(count, 3, SIDE, SIDE, generator=generator)
        self.items = [(image + step * (index % CLASSES), index % CLASSES) for index, image in enumerate(noise)]

    def __len__(self):
        return len(self.items)

    def new_empty(self):
        """What ``Learner.export`` keeps of a data set: nothing of ours."""
        return []

    def set_split_idx(self, index):
        """What ``Learner.tta`` turns augmentation on with; there is none."""
        return nullcontext()

    def __getitem__(self, index):
        self.reads += 1
        if self.reads == self.broken:
            raise OSError("image 7 of the set is broken")
        return self.items[index]


def body_and_head(model):
    return [list(model[:3].parameters()), list(model[3:].parameters())]


def make(train=10 * BATCH + 3, valid=2 * BATCH + 5, broken=None, step=1.0, **options):
    torch.manual_seed(0)
    loaders = DataLoaders(
        DataLoader(Images(train, 1, broken, step), bs=BATCH),
        DataLoader(Images(valid, 2, step=step), bs=BATCH),
        device=torch.device("cpu"),
    )
    net = nn.Sequential(
        nn.Conv2d(3, 6, 3, 2, bias=False),
        nn.BatchNorm2d(6),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(6, CLASSES),
    )
    options = {"metrics": [accuracy, error_rate], "splitter": body_and_head, "path": "."} | options
    learn = Learner(loaders, net, loss_func=CrossEntropyLossFlat(), **options)
    learn.logger = lambda row: None
    learn.remove_cb(learn.progress)
    return learn


def losses(learn):
    return [float(loss) for loss in learn.recorder.losses]


def whole(learn):
    """What of the Learner is not as on an ordinary CPU; nothing, if all is well."""
    wrong = [name for name, value in learn.model.state_dict().items() if value.device.type != "cpu"]
    wrong += [f"attribute {name}" for name in ("save", "_with_events") if name in vars(learn)]
    wrong += [f"callback {callback}" for callback in learn.cbs if callback.name in ("graph_cut",)]
    states = [] if learn.opt is None else list(learn.opt.state.values())
    wrong += [key for state in states for key, value in state.items() if getattr(value, "is_xla", False)]
    wrong += [] if type(learn.recorder.smooth_loss).__module__ == "fastai.learner" else ["smooth loss"]
    trained = {id(parameter) for parameter in learn.model.parameters()}
    held = set() if learn.opt is None else {id(p) for group in learn.opt.param_lists for p in group}
    wrong += [] if learn.opt is None or held == trained else ["the optimizer has other parameters"]
    wrong += [f"thread {thread.name}" for thread in threading.enumerate() if "_worker" in thread.name]
    return wrong
