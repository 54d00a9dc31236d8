"""Pickles without a description: what stock fastai exports is predicted as fastai does, without fastai's trust.

python -m pytest tests/models/test_safe_load.py
"""

import warnings

import numpy as np
import pytest
import torch
from PIL import Image

import models
from models.errors import ModelError
from models.modules import MODULES, class_of
from models.network_classes import installed, listed
from models.trusted import load_trusted

# Small images, so that a learner is made and exported in a second; a ViT takes only its own size.
ARCHS = {"resnet18": 64, "resnet50": 64, "convnext_atto": 64, "vit_tiny_patch16_224": 224}


@pytest.fixture(scope="module")
def pets(tmp_path_factory):
    """Two classes of noise, in folders."""
    root = tmp_path_factory.mktemp("pets")
    rng = np.random.default_rng(0)
    for label in ("cat", "dog"):
        (root / label).mkdir()
        for index in range(6):
            pixels = rng.integers(0, 256, (80, 100, 3), np.uint8)
            Image.fromarray(pixels).save(root / label / f"{index}.png")
    return root


@pytest.fixture(scope="module")
def stock(pets, tmp_path_factory):
    """`stock(arch, item_tfms, batch_tfms)`: what stock fastai's vision_learner exports, in its own words."""
    from fastai.vision.all import ImageDataLoaders, Resize, vision_learner

    folder = tmp_path_factory.mktemp("stock")

    def stock(arch, item_tfms=None, batch_tfms=None, **options):
        import torchvision

        size = ARCHS.get(arch, 64)
        loaders = ImageDataLoaders.from_folder(
            pets, valid_pct=0.3, seed=1, bs=4, num_workers=0, item_tfms=item_tfms or Resize(size), batch_tfms=batch_tfms
        )
        function = getattr(torchvision.models, arch, None)
        torch.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            learn = vision_learner(loaders, function or arch, pretrained=False, path=folder, **options)
            learn.model.train()(torch.randn(4, 3, size, size))
            learn.export("export.pkl")
        return folder / "export.pkl"

    return stock


def check_equal(path):
    photos = [Image.effect_noise(size, 80).convert("RGB") for size in ((90, 160), (60, 50))]
    ours, theirs = models.load(path), load_trusted(path)
    assert not hasattr(ours, "learn")
    assert ours.classes == theirs.classes == ["cat", "dog"]
    torch.testing.assert_close(ours.probabilities(photos), theirs.probabilities(photos), atol=1e-5, rtol=0)


@pytest.mark.parametrize("arch", ARCHS)
def test_stock_exports_predict_as_in_stock_fastai(stock, arch):
    check_equal(stock(arch))


@pytest.mark.parametrize("method", ["squish", "pad", "crop"])
def test_the_ways_to_resize(stock, method):
    from fastai.vision.all import Resize

    check_equal(stock("resnet18", Resize((64, 48), method=method)))


def test_augmentation_and_normalisation(stock):
    from fastai.vision.all import Normalize, aug_transforms, imagenet_stats

    check_equal(stock("resnet18", batch_tfms=[*aug_transforms(), Normalize.from_stats(*imagenet_stats)]))


def test_callbacks_metrics_and_losses(stock):
    from fastai.vision.all import CrossEntropyLossFlat, F1Score, MixUp, accuracy, error_rate

    metrics = [accuracy, error_rate, F1Score(average="macro")]
    check_equal(stock("resnet18", metrics=metrics, cbs=MixUp(), loss_func=CrossEntropyLossFlat()))


def test_a_transform_that_only_fastai_has(stock):
    from fastai.vision.all import RandomResizedCrop

    path = stock("resnet18", RandomResizedCrop(64))
    with pytest.raises(ModelError) as raised:
        models.load(path)
    assert str(raised.value) == (
        f"{path} prepares images with RandomResizedCrop: --trust loads it as fastai does, if you trust its maker"
    )
    assert load_trusted(path).classes == ["cat", "dog"]


def test_a_network_of_ones_own_is_refused(stock):
    class Own(torch.nn.Flatten):
        pass

    pool, linear = torch.nn.AdaptiveAvgPool2d(1), torch.nn.Linear(512, 2)
    path = stock("resnet18", custom_head=torch.nn.Sequential(pool, Own(), linear))
    with pytest.raises(
        ModelError, match=r"refused, it asks for cloudpickle\.cloudpickle\._make_skeleton_class, which "
    ):
        models.load(path)


def test_the_listed_classes_are_layers():
    """Of those that the installed versions have, which `class_of` checks; the list is that of these versions."""
    known = set(installed())
    assert known <= listed()
    for module, name in MODULES:
        if module.startswith(("torch.", "fastai.")) or (module, name) in known:
            class_of(module, name)
