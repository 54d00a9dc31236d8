"""The CIFAR residual networks: sizes, shapes, shortcuts, and what their pickles name.

python -m pytest tests/models/test_cifar_resnet.py
"""

import io
import pickletools
import zipfile

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from models.cifar_resnet import CIFAR_RESNETS, resnet20_cifar, resnet36_cifar

# By hand: a convolution of k x k from a to b channels has k*k*a*b parameters, its batch norm 2*b,
# the linear layer (channels + 1) * classes. For ResNet-18 and -50 the sum is torchvision's with 10
# classes less 3*64*(7*7 - 3*3) = 7,680 for the smaller stem. ResNet-36 is ResNet-34 with another
# block in the last stage: 2 * (3*3*512*512 + 2*512) = 4,720,640.
PARAMETERS = {
    "resnet20_cifar": 269_722,
    "resnet18_cifar": 11_173_962,
    "resnet34_cifar": 21_282_122,
    "resnet36_cifar": 26_002_762,
    "resnet50_cifar": 23_520_842,
}
every_resnet = pytest.mark.parametrize("name", CIFAR_RESNETS)


@every_resnet
def test_parameter_count(name):
    network = CIFAR_RESNETS[name](10)
    assert sum(p.numel() for p in network.parameters()) == PARAMETERS[name]


@every_resnet
def test_forward_gives_one_logit_per_class(name):
    network = CIFAR_RESNETS[name](7).eval()
    with torch.no_grad():
        logits = network(torch.rand(2, 3, 32, 32))
    assert logits.shape == (2, 7)
    assert logits.isfinite().all()


@every_resnet
def test_stem_keeps_every_pixel(name):
    network = CIFAR_RESNETS[name](10)
    assert (network.conv1.kernel_size, network.conv1.stride) == ((3, 3), (1, 1))
    assert not any(isinstance(module, nn.MaxPool2d) for module in network.modules())


@every_resnet
def test_convolutions_are_initialised_as_torchvision_does(name):
    for module in CIFAR_RESNETS[name](10).modules():
        if isinstance(module, nn.Conv2d):
            fan_out = module.out_channels * module.kernel_size[0] ** 2
            expected = (2 / fan_out) ** 0.5
            assert module.weight.std().item() == pytest.approx(expected, rel=0.2)


@every_resnet
def test_saved_file_names_only_torch_and_torchvision(name):
    buffer = io.BytesIO()
    torch.save(CIFAR_RESNETS[name](10), buffer)
    with zipfile.ZipFile(buffer) as archive:
        (path,) = (entry for entry in archive.namelist() if entry.endswith("data.pkl"))
        operations = list(pickletools.genops(archive.read(path)))
    assert not any(opcode.name == "STACK_GLOBAL" for opcode, _, _ in operations)
    modules = {arg.split()[0] for opcode, arg, _ in operations if opcode.name == "GLOBAL"}
    packages = {module.split(".")[0] for module in modules}
    # `__builtin__` is what pickle protocol 2 calls `builtins`.
    assert packages <= {"torch", "torchvision", "collections", "__builtin__"}


@pytest.mark.parametrize("side", [32, 9])
@pytest.mark.parametrize(("stage", "channels", "pad"), [("layer2", 16, 8), ("layer3", 32, 16)])
def test_resnet20_shortcut_is_option_a(stage, channels, pad, side):
    shortcut = getattr(resnet20_cifar(), stage)[0].downsample
    x = torch.randn(2, channels, side, side)
    expected = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, pad, pad))
    assert torch.equal(shortcut(x), expected)
    assert not list(shortcut.parameters())


def test_resnet20_has_twenty_weighted_layers_in_three_stages():
    network = resnet20_cifar()
    weighted = [m for m in network.modules() if isinstance(m, nn.Conv2d | nn.Linear)]
    assert len(weighted) == 20
    features = nn.Sequential(*list(network.children())[:6])
    assert features(torch.rand(1, 3, 32, 32)).shape == (1, 64, 8, 8)


def test_log_softmax_and_nll_equal_cross_entropy():
    torch.manual_seed(0)
    network = resnet36_cifar().double()
    x, y = torch.rand(4, 3, 32, 32, dtype=torch.float64), torch.tensor([0, 3, 9, 3])

    def loss_and_gradients(loss_of):
        network.zero_grad()
        loss = loss_of(network(x))
        loss.backward()
        return loss.detach(), [p.grad.clone() for p in network.parameters()]

    nll = loss_and_gradients(lambda logits: nn.NLLLoss()(F.log_softmax(logits, dim=1), y))
    cross_entropy = loss_and_gradients(lambda logits: nn.CrossEntropyLoss()(logits, y))
    torch.testing.assert_close(nll, cross_entropy)
    assert all(gradient.abs().sum() > 0 for gradient in nll[1])
