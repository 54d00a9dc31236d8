"""Residual networks for 32 px images: a 3x3 stem and no max pool, so that no detail is lost early.

    from models.cifar_resnet import CIFAR_RESNETS
    net = CIFAR_RESNETS["resnet20_cifar"](10)

Every network is put together from the modules of torch and torchvision alone, so that its pickle
loads wherever these two are installed, without this project.
"""

from collections import OrderedDict
from collections.abc import Callable

from torch import nn
from torchvision.models.resnet import BasicBlock, Bottleneck, ResNet

STAGE_CHANNELS = (16, 32, 64)
BLOCKS_PER_STAGE = 3  # n in the paper: 6n + 2 weighted layers, so n = 3 is ResNet-20


def resnet20_cifar(num_classes: int = 10) -> nn.Module:
    """ResNet-20 for CIFAR-10, with parameter-free shortcuts ("option A").

    Parameters
    ----------
    num_classes : int
        Number of logits. 10 give 269,722 parameters.

    Returns
    -------
    nn.Module
        From float images (N, 3, H, W) to logits (N, num_classes). Its children have the names of
        torchvision's ResNet, and end in `avgpool`, `flatten`, `fc`.

    References
    ----------
    He et al., "Deep Residual Learning for Image Recognition", CVPR 2016, section 4.2.
    """
    first, middle, last = STAGE_CHANNELS
    network = nn.Sequential(
        OrderedDict(
            conv1=_stem(first),
            bn1=nn.BatchNorm2d(first),
            relu=nn.ReLU(inplace=True),
            layer1=_stage(first, first),
            layer2=_stage(first, middle),
            layer3=_stage(middle, last),
            avgpool=nn.AdaptiveAvgPool2d(1),
            flatten=nn.Flatten(),
            fc=nn.Linear(last, num_classes),
        )
    )
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            _initialise(module)
    return network


def resnet18_cifar(num_classes: int = 10) -> nn.Module:
    """Torchvision's ResNet-18 with a CIFAR stem, (N, 3, H, W) to (N, num_classes)."""
    return _wide_resnet(BasicBlock, [2, 2, 2, 2], num_classes)


def resnet34_cifar(num_classes: int = 10) -> nn.Module:
    """Torchvision's ResNet-34 with a CIFAR stem, (N, 3, H, W) to (N, num_classes)."""
    return _wide_resnet(BasicBlock, [3, 4, 6, 3], num_classes)


def resnet36_cifar(num_classes: int = 10) -> nn.Module:
    """ResNet-34 with a fourth block in the last stage, and a CIFAR stem: 36 weighted layers."""
    return _wide_resnet(BasicBlock, [3, 4, 6, 4], num_classes)


def resnet50_cifar(num_classes: int = 10) -> nn.Module:
    """Torchvision's ResNet-50 (bottlenecks) with a CIFAR stem, (N, 3, H, W) to (N, num_classes)."""
    return _wide_resnet(Bottleneck, [3, 4, 6, 3], num_classes)


CIFAR_RESNETS: dict[str, Callable[[int], nn.Module]] = {
    "resnet20_cifar": resnet20_cifar,
    "resnet18_cifar": resnet18_cifar,
    "resnet34_cifar": resnet34_cifar,
    "resnet36_cifar": resnet36_cifar,
    "resnet50_cifar": resnet50_cifar,
}


def _stem(channels: int) -> nn.Conv2d:
    return nn.Conv2d(3, channels, kernel_size=3, stride=1, padding=1, bias=False)


def _initialise(conv: nn.Conv2d) -> None:
    """Kaiming initialisation, as torchvision's ResNet does to each of its convolutions."""
    nn.init.kaiming_normal_(conv.weight, mode="fan_out", nonlinearity="relu")


def _stage(channels_in: int, channels_out: int) -> nn.Sequential:
    """BLOCKS_PER_STAGE basic blocks; a change of width also halves the resolution."""
    if channels_in == channels_out:
        first = BasicBlock(channels_in, channels_out)
    else:
        shortcut = _shortcut(channels_in, channels_out)
        first = BasicBlock(channels_in, channels_out, stride=2, downsample=shortcut)
    rest = [BasicBlock(channels_out, channels_out) for _ in range(BLOCKS_PER_STAGE - 1)]
    return nn.Sequential(first, *rest)


def _shortcut(channels_in: int, channels_out: int) -> nn.Sequential:
    """x[:, :, ::2, ::2] with zero channels before and after, in modules instead of a lambda.

    A 1x1 average pool of stride 2 is the subsampling; ZeroPad3d takes (N, C, H, W) for an
    unbatched (C, D, H, W), so that its last pair of pads falls on the channels.
    """
    pad = (channels_out - channels_in) // 2
    return nn.Sequential(nn.AvgPool2d(1, stride=2), nn.ZeroPad3d((0, 0, 0, 0, pad, pad)))


def _wide_resnet(block: type[BasicBlock | Bottleneck], layers: list[int], num_classes: int) -> ResNet:
    network = ResNet(block, layers, num_classes=num_classes)
    network.conv1 = _stem(network.conv1.out_channels)
    _initialise(network.conv1)
    network.maxpool = nn.Identity()
    return network
