"""Small networks that learn CIFAR-10 quickly: airbench's, with a first layer that is computed from the images.

    network = AIRBENCH["airbench94_cifar"](10)
    whiten(network, images)                     # normalised training images, float32 (N, 3, 32, 32)

Source: Jordan, "94% on CIFAR-10 in 3.29 Seconds on a Single GPU" (2024, arXiv 2404.00498), sections 3.1 to 3.3.
Every network is put together from the modules of torch and torchvision alone, as in `models.cifar_resnet`.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torchvision.models.resnet import BasicBlock

PATCH = 2  # px, side of what the first layer looks at
WHITENED = 2 * 3 * PATCH**2  # its channels: every principal component of a patch, and its negative
SEEN = 5000  # images, whose patches it is computed from
EPSILON = 5e-4  # of a component's variance, so that noise is not made as large as what there is to see
NORM = {"eps": 1e-12, "momentum": 0.4}  # 0.6 of the old statistics are kept: an epoch has few batches


@dataclass(frozen=True)
class Size:
    """How large a network is."""

    channels: tuple[int, int, int]
    """Of its three stages."""

    residual: bool
    """A third convolution in each stage, with a shortcut around the last two."""


SIZES = {
    "airbench94_cifar": Size((64, 256, 256), residual=False),
    "airbench95_cifar": Size((128, 384, 384), residual=False),
    "airbench96_cifar": Size((128, 512, 512), residual=True),
}


def airbench(size: Size, num_classes: int = 10) -> nn.Module:
    """The network of that size, from normalised images (N, 3, 32, 32) to logits (N, num_classes).

    The scales of all batch norms are constant 1, and so are the weights of the first layer, once `whiten` has
    computed them. Convolutions begin as the identity on as many channels as come in, so that the first stages
    hand on what they see. Logits begin small: those of a head of unit variance, over its inputs.
    """
    first, second, third = size.channels
    network = nn.Sequential(
        OrderedDict(
            whiten=nn.Conv2d(3, WHITENED, PATCH),
            act=nn.GELU(),
            stage1=_stage(WHITENED, first, size.residual),
            stage2=_stage(first, second, size.residual),
            stage3=_stage(second, third, size.residual),
            pool=nn.AdaptiveMaxPool2d(1),
            flatten=nn.Flatten(),
            fc=nn.Linear(third, num_classes, bias=False),
        )
    )
    network.whiten.weight.requires_grad_(False)
    with torch.no_grad():
        network.fc.weight.div_(network.fc.weight.std() * third)
    return network


@torch.no_grad()
def whiten(network: nn.Module, images: Tensor) -> None:
    """Set the first layer to the principal components of patches, scaled to unit variance, and their negatives.

    Parameters
    ----------
    images
        Normalised as the network will see them, float32 (N, 3, height, width); some thousands suffice.
    """
    layer = network.whiten
    patches = nn.functional.unfold(images.cpu(), PATCH).transpose(1, 2).flatten(0, 1)  # (patches, 3 * PATCH**2)
    variances, components = torch.linalg.eigh(patches.T @ patches / len(patches))
    scaled = (components / (variances + EPSILON).sqrt()).T.reshape(-1, 3, PATCH, PATCH)
    layer.weight.copy_(torch.cat([scaled, -scaled]))


def _stage(channels_in: int, channels_out: int, residual: bool) -> nn.Sequential:
    """Half the resolution; one more convolution behind it, or two with a shortcut."""
    begin = [_convolution(channels_in, channels_out), nn.MaxPool2d(2), _norm(channels_out), nn.GELU()]
    if not residual:
        return nn.Sequential(*begin, _convolution(channels_out, channels_out), _norm(channels_out), nn.GELU())
    block = BasicBlock(channels_out, channels_out, norm_layer=_norm)
    block.conv1, block.conv2 = (_convolution(channels_out, channels_out) for _ in range(2))
    block.relu = nn.GELU()
    return nn.Sequential(*begin, block)


def _convolution(channels_in: int, channels_out: int) -> nn.Conv2d:
    layer = nn.Conv2d(channels_in, channels_out, kernel_size=3, padding=1, bias=False)
    nn.init.dirac_(layer.weight.data[:channels_in])
    return layer


def _norm(channels: int) -> nn.BatchNorm2d:
    layer = nn.BatchNorm2d(channels, **NORM)
    layer.weight.requires_grad_(False)
    return layer


def whiten_by(learn: Any) -> None:
    """Let the network of a Learner see the principal components of its own training images, evenly picked."""
    items = learn.dls.train_ds.items
    some = items[:: max(1, len(items) // SEEN)]
    images = [batch[0] for batch in learn.dls.test_dl(some, bs=len(some))]
    whiten(learn.model, torch.cat(images).as_subclass(Tensor))


def _of(size: Size) -> Callable[[int], nn.Module]:
    return lambda num_classes=10: airbench(size, num_classes)


AIRBENCH: dict[str, Callable[[int], nn.Module]] = {name: _of(size) for name, size in SIZES.items()}
