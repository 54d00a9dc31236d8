"""A training batch as a picture: python -m pytest tests/app/pictures/test_training_batch.py"""

import pytest
import torch
from fastai.data.core import DataLoaders, TfmdDL
from fastai.data.transforms import IntToFloatTensor, Normalize
from fastai.vision.core import TensorImage

from app.pictures.training_batch import denormalized, draw_batch
from data.normalize import NormalizeBytes

STATISTICS = [0.2, 0.4, 0.6], [0.1, 0.2, 0.3]
PIXELS = torch.randint(0, 256, (4, 3, 8, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    "steps",
    [[IntToFloatTensor(), Normalize.from_stats(*STATISTICS, cuda=False)], [NormalizeBytes.of(*STATISTICS)]],
    ids=["fastai", "ours"],
)
def test_the_pixels_come_back(steps):
    items = [(TensorImage(image), index % 2) for index, image in enumerate(PIXELS)]
    loaders = DataLoaders(*(TfmdDL(items, bs=4, after_batch=steps) for _ in range(2)), device=torch.device("cpu"))
    images, labels = loaders.valid.one_batch()
    assert images.min() < -1
    figure = draw_batch(denormalized(images, loaders), labels, ["ant", "bee"])
    assert [axis.title.get_text() for axis in figure.axes] == ["ant", "bee"] * 2
    for axis, image in zip(figure.axes, PIXELS):
        assert (axis.images[0].get_array() == image.permute(1, 2, 0).numpy()).all()


def test_what_was_lit_beyond_white_is_white():
    (axis,) = draw_batch(torch.full((1, 3, 2, 2), 1.3), torch.tensor([0]), ["ant"]).axes
    assert (axis.images[0].get_array() == 255).all()
