"""The heat lies where the network looks, and nothing is drawn for networks that keep no places.

python -m pytest tests/models/test_grad_cam.py
"""

import pytest
import timm
import torch
import torchvision
from torch import nn

from models.architectures import cifar_networks
from models.errors import ModelError
from models.grad_cam import grad_cam, last_maps

SIDE, SQUARE = 32, 8


def finder() -> nn.Module:
    """Logits are (darkness, brightness of 4 px blocks above a threshold): class 1 is there where a square is."""
    conv = nn.Conv2d(3, 2, 4, stride=4)
    with torch.no_grad():
        conv.weight.copy_(torch.ones(2, 3, 4, 4) / 48 * torch.tensor([-1.0, 1.0]).view(2, 1, 1, 1))
        conv.bias.copy_(torch.tensor([0.5, -0.6]))
    linear = nn.Linear(2, 2, bias=False)
    with torch.no_grad():
        linear.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 100.0]]))
    return nn.Sequential(conv, nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), linear).eval()


def test_the_heat_lies_on_a_bright_square():
    torch.manual_seed(0)
    images = torch.rand(12, 3, SIDE, SIDE) * 0.5
    corners = torch.randint(0, SIDE - SQUARE + 1, (12, 2)).tolist()
    for image, (top, left) in zip(images, corners):
        image[:, top : top + SQUARE, left : left + SQUARE] = 1
    network = finder()
    layer = last_maps(network, images)
    heat = grad_cam(network, layer, images, torch.ones(12, dtype=torch.long))
    assert heat.shape == (12, SIDE, SIDE)
    assert heat.amax((1, 2)).tolist() == [1] * 12
    for found, (top, left) in zip(heat, corners):
        row, column = divmod(found.argmax().item(), SIDE)
        assert top <= row < top + SQUARE
        assert left <= column < left + SQUARE


def test_where_nothing_speaks_for_the_class_there_is_no_heat():
    network, images = finder(), torch.zeros(1, 3, SIDE, SIDE)
    heat = grad_cam(network, last_maps(network, images), images, torch.tensor([1]))
    assert torch.equal(heat, torch.zeros(1, SIDE, SIDE))


def test_weights_that_need_no_gradient_and_inference_mode_do_no_harm():
    network = finder().requires_grad_(False)
    images = torch.ones(1, 3, SIDE, SIDE)
    with torch.inference_mode():
        heat = grad_cam(network, last_maps(network, images), images.clone(), torch.tensor([1]))
    assert heat.max() == 1


CNNS = {
    **{name: (lambda name=name: cifar_networks()[name](3), 32) for name in ("resnet20_cifar", "airbench94_cifar")},
    **{
        name: (lambda name=name: getattr(torchvision.models, name)(), 64)
        for name in ("resnet18", "densenet121", "vgg11")
    },
    **{name: (lambda name=name: timm.create_model(name), 64) for name in ("convnext_atto", "tf_efficientnet_lite0")},
}


@pytest.mark.parametrize("name", CNNS)
def test_the_last_maps_of_cnns(name):
    build, side = CNNS[name]
    network, images = build().eval(), torch.rand(2, 3, side, side)
    heat = grad_cam(network, last_maps(network, images), images, torch.tensor([0, 1]))
    assert heat.shape == (2, side, side)
    assert heat.isfinite().all()
    assert heat.min() >= 0


@pytest.mark.parametrize(("name", "side"), [("vit_tiny_patch16_224", 224), ("swin_tiny_patch4_window7_224", 224)])
def test_transformers_are_refused(name, side):
    network = timm.create_model(name).eval()
    with pytest.raises(ModelError, match="no maps of features but tokens"):
        last_maps(network, torch.zeros(1, 3, side, side))


def test_a_network_without_maps_is_refused():
    network = nn.Sequential(nn.Flatten(), nn.Linear(12, 2)).eval()
    with pytest.raises(ModelError, match="do not keep where in the image something is"):
        last_maps(network, torch.zeros(1, 3, 2, 2))
