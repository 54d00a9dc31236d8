"""Batches made at once from the cache: equal to fastai's in validation, reproducible in training, and never silent.

python -m pytest tests/data/test_pixel_loader.py
"""

import threading
from types import SimpleNamespace

import fastai.callback.progress  # noqa: F401  gives Learner no_bar
import matplotlib
import numpy as np
import pytest
import torch
from fastai.data.core import DataLoaders, TfmdDL
from fastai.data.transforms import IntToFloatTensor, ToTensor
from fastai.learner import Learner
from fastai.losses import CrossEntropyLossFlat
from fastai.torch_core import set_seed
from fastai.vision.augment import Resize
from fastai.vision.core import TensorImage
from PIL import Image
from torch import nn

import data
from data.normalize import lay_out
from data.pixel_loader import BalancedPixelDL, PixelDL
from data.pixel_store import PixelStore
from data.pixels import Pixels

SIZE = 32
SPEC = SimpleNamespace(image_size=SIZE, mean=(0.5, 0.4, 0.3), std=(0.2, 0.25, 0.3))


@pytest.fixture
def scan(photo_folder):
    """12 training and 6 validation photos of each class, of different shapes, some decoded at a reduced size."""
    root = photo_folder()
    rng = np.random.default_rng(0)
    for number, path in enumerate(sorted(root.rglob("*.jpg"))):
        coarse = Image.fromarray(rng.integers(0, 256, (5, 6, 3), np.uint8))
        coarse.resize((90 + 40 * (number % 9), 80 + 70 * (number % 5)), Image.Resampling.BICUBIC).save(path)
    return data.scan(root)


@pytest.fixture
def loaders(scan, tmp_path):
    def loaders(**options):
        pixels = Pixels(SIZE, PixelStore(tmp_path / "cache"))
        return data.loaders(scan, SPEC, **{"batch_size": 8, "aug": "crop", "pixels": pixels} | options)

    return loaders


def epoch(loader) -> tuple[torch.Tensor, list[int]]:
    images, labels = zip(*loader)
    return torch.cat(images).as_subclass(torch.Tensor), torch.cat(labels).tolist()


def prefetching() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "prefetch"]


@pytest.mark.parametrize("workers", [0, 3])
def test_validation_is_stock_fastais(loaders, scan, workers):
    made = loaders(workers=workers)
    assert type(made.valid) is PixelDL
    stock = TfmdDL(made.valid.dataset, bs=8, num_workers=0, after_item=[Resize(SIZE), ToTensor()])
    for _ in range(2):  # the second from the cache
        made.valid.before_iter()
        batches = list(made.valid.create_batches(made.valid.get_idxs()))
        for (images, labels), (stock_images, stock_labels) in zip(batches, stock):
            assert (images.dtype, type(images), type(labels)) == (torch.uint8, TensorImage, type(stock_labels))
            assert torch.equal(images, stock_images)
            assert torch.equal(labels, stock_labels)
        floats, labels = epoch(made.valid)
        mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in (SPEC.mean, SPEC.std))
        expected = torch.cat([(IntToFloatTensor()(images) - mean) / std for images, _ in stock])
        assert torch.allclose(floats, expected.as_subclass(torch.Tensor), atol=1e-6)
        assert labels == [0] * 6 + [1] * 6


def test_training_is_cropped_at_random_and_not_with_strength_zero(loaders):
    made = loaders()
    first, second = (epoch(made.train)[0] for _ in range(2))
    assert first.shape == (24, 3, SIZE, SIZE)
    assert not torch.equal(first.sum((1, 2, 3)).sort()[0], second.sum((1, 2, 3)).sort()[0])
    still = loaders(aug_mult=0)
    first, second = (epoch(still.train)[0] for _ in range(2))
    assert torch.allclose(first.sum((1, 2, 3)).sort()[0], second.sum((1, 2, 3)).sort()[0], atol=1e-3)


def test_one_seed_is_one_training_whatever_the_threads(loaders):
    found = []
    for workers, seed in ((0, 1), (1, 1), (3, 1), (3, 2)):
        set_seed(seed)
        made = loaders(workers=workers)
        epochs = [torch.cat([images for images, _ in made.train]) for _ in range(2)]
        assert not torch.equal(*epochs)
        found.append(torch.cat(epochs))
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])
    assert not torch.equal(found[0], found[3])


def test_later_epochs_and_runs_do_not_decode(loaders, monkeypatch, scan):
    opened = []

    def read(source, **options):
        opened.append(source)
        return data.read_image(source, **options)

    monkeypatch.setattr("data.pixels.read_image", read)
    made = loaders()
    epoch(made.train)
    epoch(made.valid)
    assert sorted(opened) == sorted(sample.source for sample in scan.train + scan.valid)
    for run in (made, loaders()):
        epoch(run.train)
        epoch(run.valid)
    assert len(opened) == 36


@pytest.mark.parametrize("workers", [0, 2])
def test_an_image_that_cannot_be_read_is_named(loaders, scan, workers):
    broken = scan.train[5].source
    content = broken.read_bytes()
    broken.write_bytes(content[: len(content) // 2])
    made = loaders(workers=workers)
    with pytest.raises(data.ImageError) as caught:
        epoch(made.train)
    assert str(caught.value).startswith(f"{broken}: damaged (image file is truncated")
    assert prefetching() == []


def test_whatever_else_goes_wrong_the_image_is_named(loaders, scan, monkeypatch):
    def fail(pixels, source):
        raise ZeroDivisionError("by chance")

    monkeypatch.setattr(Pixels, "square", fail)
    with pytest.raises(data.ImageError) as caught:
        epoch(loaders().valid)
    assert str(caught.value) in [
        f"{sample.source}: cannot be put into a batch (ZeroDivisionError: by chance)" for sample in scan.valid
    ]


def test_giving_up_an_epoch_ends_its_threads(loaders):
    made = loaders()
    made.train.one_batch()
    for _ in made.train:
        break
    assert prefetching() == []


# What fastai's users do


def test_a_test_loader_sees_what_validation_saw(loaders, scan):
    made = loaders()
    paths = [sample.source for sample in scan.valid]
    unlabelled = made.test_dl(paths, bs=5)
    assert [len(batch) for batch in unlabelled] == [1, 1, 1]
    found = torch.cat([batch[0] for batch in unlabelled]).as_subclass(torch.Tensor)
    assert torch.equal(found, epoch(made.valid)[0])
    labelled = made.test_dl(scan.train, with_labels=True)  # training images as validation would see them
    assert epoch(labelled)[1] == [0] * 12 + [1] * 12


def test_images_that_are_no_files_go_fastais_way(loaders):
    image = Image.new("RGB", (80, 50), (102, 51, 204))
    (found,) = loaders().test_dl([np.asarray(image)]).one_batch()
    assert found.shape == (1, 3, SIZE, SIZE)
    assert torch.allclose(
        found[0, :, 0, 0], (torch.tensor([0.4, 0.2, 0.8]) - torch.tensor(SPEC.mean)) / torch.tensor(SPEC.std), atol=1e-5
    )


def test_other_item_transforms_go_fastais_way(loaders):
    other = loaders().valid.new(after_item=[Resize(16), ToTensor()])
    assert epoch(other)[0].shape == (12, 3, 16, 16)


def test_a_new_loader_keeps_what_it_is_made_of(loaders):
    train = loaders(workers=2).train
    new = train.new(bs=3)
    assert (type(new), new.pixels, new.crop, new.threads) == (PixelDL, train.pixels, train.crop, 2)
    assert [len(labels) for _, labels in new] == [3] * 8
    assert type(train.new(cls=TfmdDL)) is TfmdDL


def test_batches_are_shown(loaders):
    matplotlib.use("Agg")
    from matplotlib import pyplot

    made = loaders()
    for loader in made.loaders:
        loader.show_batch(max_n=4)
        shown = [axes for axes in pyplot.gcf().axes if axes.images]
        assert len(shown) == 4
        assert {axes.get_title() for axes in shown} <= {"cat", "dog"}
        pixels = shown[0].images[0].get_array()
        assert 0 <= pixels.min() < pixels.max() <= 1
        pyplot.close("all")


def test_a_learner_trains_validates_predicts_and_shifts_at_test_time(loaders, tmp_path):
    made = loaders()
    assert isinstance(made, DataLoaders)
    model = nn.Sequential(nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(48, 2))
    learn = Learner(made, model, loss_func=CrossEntropyLossFlat(), path=tmp_path)
    with learn.no_bar(), learn.no_logging():
        learn.fit(1, 1e-2)
        probabilities, targets = learn.get_preds()
        assert (probabilities.shape, targets.tolist()) == ((12, 2), [0] * 6 + [1] * 6)
        assert torch.isclose(torch.tensor(learn.validate()[0]), nn.functional.nll_loss(probabilities.log(), targets))
        assert learn.tta(n=2)[0].shape == (12, 2)
        name, _, _ = learn.predict(made.valid_ds.items[0].source)
    assert name in ("cat", "dog")


def test_a_balanced_loader_keeps_its_weights(loaders, scan):
    scan.train = scan.train[:12] + scan.train[12:14]  # 12 cats, 2 dogs
    made = loaders(balanced=True, batch_size=14)
    assert type(made.train) is BalancedPixelDL
    for loader in (made.train, made.train.new(bs=7)):
        drawn = [label for _ in range(20) for label in epoch(loader)[1]]
        assert 0.35 < sum(drawn) / len(drawn) < 0.65
    assert [len(labels) for _, labels in made.valid] == [12]


def test_batches_come_in_the_layout_that_is_asked_for(loaders):
    made = loaders()
    for name, layout in (("channels_last", torch.channels_last), ("contiguous", torch.contiguous_format)):
        lay_out(made, name)
        for loader in (made.train, made.train.new(bs=4), made.valid):
            images, _ = loader.one_batch()
            assert images.is_contiguous(memory_format=layout)
