"""Images that grow from epoch to epoch: which epoch has which size, and what a smaller image shows.

python -m pytest tests/callbacks/test_progressive_resizing.py
"""

import pytest
import torch
from fastai.callback.core import Callback
from fastai.data.core import DataLoader, DataLoaders
from fastai.learner import Learner
from fastai.losses import CrossEntropyLossFlat
from torch import nn

from callbacks.progressive_resizing import ProgressiveResizing

STAGES = [(1 / 4, 20 / 32), (2 / 3, 24 / 32)]


class Watch(Callback):
    order = 100

    def before_fit(self):
        self.trained, self.validated = [], []

    def before_batch(self):
        (self.trained if self.training else self.validated).append(self.x.detach())


@pytest.fixture
def learn():
    """A network for images of any size, and four images of 32 x 40 in one batch: black to the left, white right."""
    images = torch.zeros(4, 3, 32, 40)
    images[..., 20:] = 1
    items = [(image, index % 2) for index, image in enumerate(images)]
    loaders = DataLoaders(*(DataLoader(items, bs=4, num_workers=0) for _ in range(2)))
    network = nn.Sequential(nn.Conv2d(3, 2, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    learn = Learner(loaders, network, CrossEntropyLossFlat())
    learn.remove_cb(learn.progress)
    learn.logger = lambda row: None
    return learn


@pytest.mark.parametrize(
    ("epochs", "sides"),
    [
        (12, [20] * 3 + [24] * 5 + [32] * 4),
        (15, [20] * 3 + [24] * 7 + [32] * 5),
        (4, [20, 24, 32, 32]),
        (3, [24, 24, 32]),
        (2, [24, 32]),
        (1, [32]),
    ],
)
def test_sides_of_the_epochs(epochs, sides):
    resizing = ProgressiveResizing(STAGES)
    assert [resizing.side(32, epoch, epochs) for epoch in range(epochs)] == sides


def test_small_images_are_left_alone():
    resizing = ProgressiveResizing([(1, 0.5)])
    assert [resizing.side(side, 0, 1) for side in (64, 32, 24, 16, 8)] == [32, 16, 16, 16, 8]


def test_training_images_alone_become_smaller(learn):
    watch = Watch()
    learn.fit(4, cbs=[ProgressiveResizing(STAGES), watch])
    assert [tuple(images.shape[2:]) for images in watch.trained] == [(20, 25), (24, 30), (32, 40), (32, 40)]
    assert {tuple(images.shape[2:]) for images in watch.validated} == {(32, 40)}


def test_a_smaller_image_shows_the_same(learn):
    watch = Watch()
    learn.fit(2, cbs=[ProgressiveResizing([(0.5, 0.5)]), watch])
    small, whole = watch.trained
    assert small.shape == (4, 3, 16, 20)
    assert small.mean() == pytest.approx(whole.mean())  # averaged, nothing left out
    assert (small[..., :9] == 0).all()
    assert (small[..., 11:] == 1).all()


def test_it_goes_on_where_a_training_was_broken_off(learn):
    watch = Watch()
    learn.fit(4, cbs=[ProgressiveResizing(STAGES), watch], start_epoch=1)
    assert [images.shape[2] for images in watch.trained] == [24, 32, 32]


@pytest.mark.parametrize(
    "stage",
    [(0.5, 24), (2, 0.75), (0, 0.5), (0.5, 0), (-1, 0.5), (float("nan"), 0.5), (0.5, float("inf")), ("a", 0.5), 0.5],
)
def test_a_stage_that_is_no_pair_of_shares_is_named(stage):
    with pytest.raises(ValueError, match=r"^stage .*: expected two shares, of epochs and of a side, above 0"):
        ProgressiveResizing([stage])


def test_stages_go_on_from_one_another():
    with pytest.raises(ValueError, match=r"^stage \(0.5, 0.75\): its share of epochs is not above 1, that of the one"):
        ProgressiveResizing([(1, 0.5), (0.5, 0.75)])
