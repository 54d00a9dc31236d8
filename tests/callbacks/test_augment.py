"""Batches augmented on the device: the geometry of grid_sample, fastai's light, and loaders that stay the same.

python -m pytest tests/callbacks/test_augment.py
"""

import pytest
import torch
import torch.nn.functional as F
from fastai.callback.core import Callback
from fastai.data.core import DataLoaders, TfmdDL
from fastai.data.transforms import IntToFloatTensor, Normalize
from fastai.learner import Learner
from fastai.losses import CrossEntropyLossFlat
from fastai.vision.augment import Brightness, Flip
from fastai.vision.core import TensorImage
from torch import nn

from callbacks.augment import Augmentation, DeviceAugment, augment

SIDE, COUNT = 12, 5
STILL = Augmentation(zoom=1, flip=False, light=0)


@pytest.fixture
def images():
    return torch.rand(COUNT, 3, SIDE, SIDE + 4, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def random():
    return torch.rand(9, COUNT, generator=torch.Generator().manual_seed(1))


def test_nothing_to_do(images):
    assert torch.allclose(augment(images, STILL), images, atol=1e-6)


def test_zoom_and_flip_are_grid_sample(images, random):
    how = Augmentation(zoom=1.5, flip=True, light=0)
    scale = torch.where(random[0] < how.share, 1 / (1 + 0.5 * random[1]), 1.0)
    affine = torch.zeros(COUNT, 2, 3)
    affine[:, 0, 0] = scale * torch.where(random[6] < 0.5, -1.0, 1.0)
    affine[:, 1, 1] = scale
    affine[:, 0, 2], affine[:, 1, 2] = (1 - scale) * (2 * random[4] - 1), (1 - scale) * (2 * random[2] - 1)
    grid = F.affine_grid(affine, list(images.shape), align_corners=True)
    expected = F.grid_sample(images, grid, align_corners=True, padding_mode="border")
    assert torch.allclose(augment(images, how, random), expected, atol=1e-5)
    assert not torch.allclose(expected, images, atol=0.1)


def test_padding_moves_black_in(images, random):
    moved = augment(images, Augmentation(zoom=1, flip=False, light=0, padding=2), random)
    padded = F.pad(images, (2, 2, 2, 2))
    for index in range(COUNT):
        top, left = int(random[3, index] * 5), int(random[5, index] * 5)
        expected = padded[index, :, top : top + SIDE, left : left + SIDE + 4]
        assert torch.allclose(moved[index], expected, atol=1e-6)


def test_light_is_fastais(images, random):
    how = Augmentation(zoom=1, flip=False, light=0.2, share=1.0)
    random[8] = 0.5  # no contrast
    brightness = Brightness(max_lighting=0.2, p=1.0, draw=lambda x: 0.5 * (1 + 0.2 * (2 * random[7] - 1)))
    expected = brightness(TensorImage(images.clone()), split_idx=0)
    assert torch.allclose(augment(images, how, random), expected.as_subclass(torch.Tensor), atol=1e-5)


class Look(Callback):
    order = -7

    def __init__(self, stop=False):
        self.stop, self.train, self.valid = stop, [], []

    def before_batch(self):
        (self.train if self.learn.training else self.valid).append(self.learn.xb[0].as_subclass(torch.Tensor))
        if self.stop and self.learn.training:
            raise OSError("stopped")


def learner(*steps):
    pixels = torch.randint(0, 256, (8, 3, SIDE, SIDE), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    items = [(TensorImage(image), index % 2) for index, image in enumerate(pixels)]
    steps = [IntToFloatTensor(), *steps, Normalize.from_stats([0.5] * 3, [0.25] * 3, cuda=False)]
    loaders = DataLoaders(*(TfmdDL(items, bs=4, after_batch=steps) for _ in range(2)), device=torch.device("cpu"))
    net = nn.Sequential(nn.Flatten(), nn.Linear(3 * SIDE * SIDE, 2))
    learn = Learner(loaders, net, loss_func=CrossEntropyLossFlat())
    learn.remove_cb(learn.progress)
    learn.logger = lambda row: None
    return learn


def test_training_batches_are_as_the_loaders_would_make_them():
    plain, ours = Look(), Look()
    learner().fit(1, cbs=plain)
    learn = learner()
    transforms = learn.dls.train.after_batch
    learn.fit(1, cbs=[DeviceAugment(STILL), ours])
    assert learn.dls.train.after_batch is transforms
    assert len(ours.train) == len(plain.train) == 2
    for found, expected in zip(ours.train + ours.valid, plain.train + plain.valid):
        assert torch.allclose(found, expected, atol=1e-5)
    learn.validate(ds_idx=0, cbs=[DeviceAugment(), ours])
    assert torch.allclose(ours.valid[-1], plain.train[-1])


def test_the_loaders_come_back_after_an_exception():
    learn = learner()
    transforms = learn.dls.train.after_batch
    with pytest.raises(OSError, match="stopped"):
        learn.fit(1, cbs=[DeviceAugment(), Look(stop=True)])
    assert learn.dls.train.after_batch is transforms


def test_other_transforms_are_not_silently_left_out():
    with pytest.raises(ValueError, match="DeviceAugment would leave out Flip: make the loaders without them"):
        learner(Flip()).fit(1, cbs=DeviceAugment())
