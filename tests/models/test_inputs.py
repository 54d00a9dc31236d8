"""The images an architecture expects.

python -m pytest tests/models/test_inputs.py
"""

from enum import Enum
from types import SimpleNamespace

import pytest
import timm
import torchvision

from models.architectures import Architecture, find, names
from models.inputs import smallest_size, stats_and_size

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225), 224)
HALF = (0.5, 0.5, 0.5)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("resnet20_cifar", ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616), 32)),
        ("resnet18", IMAGENET),
        ("inception_v3", (*IMAGENET[:2], 299)),
        ("efficientnet_v2_l", (HALF, HALF, 480)),
        ("tf_efficientnet_lite0", (HALF, HALF, 224)),
        ("resnet18.a1_in1k", IMAGENET),
        ("vit_base_patch16_sapiens2", (*IMAGENET[:2], 1024)),  # 1024 high, 768 wide
        ("torchvision.models:mobilenet_v2", IMAGENET),
    ],
)
def test_stats_and_size(name, expected):
    assert stats_and_size(find(name)) == expected


@pytest.mark.parametrize(
    ("name", "side"),
    [
        ("resnet20_cifar", 1),
        ("resnet18", 1),
        ("alexnet", 63),
        ("vit_b_16", 224),
        ("vit_h_14", 518),
        ("tf_efficientnet_lite0", 1),
        ("vit_tiny_patch16_224", 224),
        ("torchvision.models:mobilenet_v2", 1),
    ],
)
def test_smallest_size(name, side):
    assert smallest_size(find(name)) == side


def test_every_listed_architecture_has_statistics_and_a_size():
    torchvision_names = set(torchvision.models.list_models(module=torchvision.models))
    for name in names()[5:]:
        family = "torchvision" if name in torchvision_names else "timm"
        mean, std, size = stats_and_size(Architecture(name, family))
        assert len(mean) == len(std) == 3, name
        assert size >= 32, name


def test_torchvision_without_weights_gets_imagenet(monkeypatch):
    monkeypatch.setattr(torchvision.models, "get_model_weights", lambda name: Enum("Weights", []))
    assert stats_and_size(find("efficientnet_v2_l")) == IMAGENET
    assert smallest_size(find("vit_b_16")) == 1


@pytest.mark.parametrize("config", [None, SimpleNamespace(mean=None, std=(), input_size=None)])
def test_timm_without_a_configuration_gets_imagenet(monkeypatch, config):
    monkeypatch.setattr(timm, "get_pretrained_cfg", lambda name: config)
    assert stats_and_size(Architecture("tf_efficientnet_lite0", "timm")) == IMAGENET
