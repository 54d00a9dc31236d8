"""The first training images as the model got them: python -m pytest tests/callbacks/test_first_batch.py"""

import pytest
import torch
from fastai.callback.core import Callback
from fastai.callback.mixup import MixUp
from fastai.data.core import DataLoaders, TfmdDL
from fastai.data.transforms import IntToFloatTensor, Normalize
from fastai.learner import Learner
from fastai.losses import CrossEntropyLossFlat
from fastai.vision.augment import Flip
from fastai.vision.core import TensorImage
from torch import nn

from callbacks.augment import DeviceAugment
from callbacks.first_batch import MOST, FirstBatch

SIDE, COUNT = 8, 40


class Seen(nn.Module):
    """Keeps what it is given."""

    def __init__(self):
        super().__init__()
        self.layer, self.given = nn.Linear(3 * SIDE * SIDE, 2), []

    def forward(self, images):
        self.given.append(images.detach().clone())
        return self.layer(images.flatten(1))


def learner(*steps, bs=20):
    pixels = torch.randint(0, 256, (COUNT, 3, SIDE, SIDE), dtype=torch.uint8)
    items = [(TensorImage(image), index % 2) for index, image in enumerate(pixels)]
    steps = [IntToFloatTensor(), *steps, Normalize.from_stats([0.5] * 3, [0.25] * 3, cuda=False)]
    made = (TfmdDL(items, bs=bs, after_batch=steps, shuffle=shuffle) for shuffle in (True, False))
    learn = Learner(DataLoaders(*made, device=torch.device("cpu")), Seen(), loss_func=CrossEntropyLossFlat())
    learn.remove_cb(learn.progress)
    learn.logger = lambda row: None
    return learn


@pytest.mark.parametrize("way", [[], [DeviceAugment()], [MixUp()]], ids=["loader", "device", "mixed"])
def test_images_are_those_that_the_model_got_first(way):
    learn = learner(*([] if way else [Flip()]))
    first = FirstBatch()
    learn.fit(2, cbs=[first, *way])
    images, labels = first.batch
    assert torch.equal(images, learn.model.given[0][:MOST])
    assert len(images) == len(labels) == MOST
    assert type(images) is type(labels) is torch.Tensor
    assert not torch.equal(images, learn.model.given[1][:MOST])


def test_a_small_batch_is_kept_whole_and_labels_belong_to_its_images():
    learn = learner(bs=4)
    learn.fit(1, cbs=[first := FirstBatch()])
    images, labels = first.batch
    stored = {tuple(image.flatten().tolist()): label for batch in learn.dls.valid for image, label in zip(*batch)}
    assert [stored[tuple(image.flatten().tolist())] for image in images] == labels.tolist()
    assert len(images) == 4


def test_it_is_a_copy():
    class Overwrite(Callback):
        order = 90

        def after_batch(self):
            self.learn.xb[0].zero_()

    learn = learner()
    learn.fit(1, cbs=[first := FirstBatch(), Overwrite()])
    assert torch.equal(first.batch[0], learn.model.given[0][:MOST])


def test_nothing_is_kept_of_what_is_no_training():
    learn = learner()
    learn.add_cb(first := FirstBatch())
    learn.validate()
    learn.get_preds()
    assert first.batch is None
    learn.fit(1)
    assert first.batch is not None
