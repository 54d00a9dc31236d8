"""What is settled for an architecture and a source, before any image is loaded.

python -m pytest tests/models/test_spec.py
"""

from types import SimpleNamespace

import pytest

import models
from models.errors import ModelError
from models.spec import AUTO_LARGE, AUTO_LARGE_SIZE, RECIPES

HALF = (0.5, 0.5, 0.5)
OWN = ((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))


def settle(arch="auto", side=224, stats=None, **options):
    scan = SimpleNamespace(side=side, classes=["ant", "bee"], stats=stats)
    return models.spec(arch, scan, **options)


@pytest.mark.parametrize(
    ("side", "arch", "size", "pretrained"),
    [
        (32, "resnet20_cifar", 32, False),
        (64, "resnet20_cifar", 32, False),
        (65, "tf_efficientnet_lite0", 224, True),
        (4000, "tf_efficientnet_lite0", 224, True),
    ],
)
def test_auto_goes_by_the_size_of_the_images(side, arch, size, pretrained):
    found = settle(side=side)
    assert (found.arch.name, found.image_size, found.pretrained) == (arch, size, pretrained)


@pytest.mark.parametrize(
    ("arch", "size"),
    [
        ("resnet18", 32),
        ("tf_efficientnet_lite0", 32),
        ("vit_b_16", 224),  # position embeddings for one size
        ("vit_h_14", 518),
        ("inception_v3", 299),  # 75 px at least
        ("vit_tiny_patch16_224", 224),
        ("torchvision.models:resnet18", 32),
    ],
)
def test_small_images_are_not_enlarged_unless_the_architecture_asks(arch, size):
    assert settle(arch, side=32).image_size == size


def test_a_size_that_is_given_rules():
    assert settle("vit_b_16", side=32, image_size=64).image_size == 64


def test_the_usual_size_is_that_of_the_usual_network():
    assert settle(AUTO_LARGE, side=4000).image_size == AUTO_LARGE_SIZE


def test_statistics_are_those_of_the_weights_or_of_the_data():
    assert settle("tf_efficientnet_lite0", stats=OWN).mean == HALF
    found = settle("tf_efficientnet_lite0", stats=OWN, pretrained=False)
    assert (found.mean, found.std) == OWN
    assert settle("tf_efficientnet_lite0", pretrained=False).mean == HALF


@pytest.mark.parametrize(
    ("arch", "pretrained", "kind"),
    [
        ("resnet18_cifar", True, "cifar"),
        ("resnet18", True, "pretrained"),
        ("resnet18", False, "scratch"),
        ("torchvision.models:resnet18", True, "scratch"),
    ],
)
def test_each_kind_has_its_recipe(arch, pretrained, kind):
    assert settle(arch, pretrained=pretrained).recipe is RECIPES[kind]


def test_an_unknown_architecture():
    with pytest.raises(ModelError, match=r"^unknown architecture 'resnt18': did you mean resnet18, "):
        settle("resnt18")
