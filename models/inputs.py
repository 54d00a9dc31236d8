"""The images an architecture expects: their statistics, their size, and the least of it.

mean, std, size = stats_and_size(arch)      # arch as models.architectures.find gives it
smallest_size(arch)

Importing this file is cheap: torchvision and timm are imported when a function needs them.
"""

from typing import Any

from models.architectures import Architecture

Statistics = tuple[float, float, float]

IMAGENET_MEAN: Statistics = (0.485, 0.456, 0.406)
IMAGENET_STD: Statistics = (0.229, 0.224, 0.225)
IMAGENET_SIZE = 224
CIFAR10_MEAN: Statistics = (0.4914, 0.4822, 0.4465)
CIFAR10_STD: Statistics = (0.2470, 0.2435, 0.2616)
CIFAR10_SIZE = 32


def stats_and_size(arch: Architecture) -> tuple[Statistics, Statistics, int]:
    """What the images of an architecture look like: per-channel mean, std, and side in pixels.

    torchvision and timm say it for the weights they load by default; what they leave open, and all
    of an own architecture, is ImageNet's. Mean and std are for RGB values scaled to 0..1; the side
    is the height for the few that expect images which are not square.
    """
    mean, std, size = IMAGENET_MEAN, IMAGENET_STD, IMAGENET_SIZE
    if arch.family == "cifar":
        mean, std, size = CIFAR10_MEAN, CIFAR10_STD, CIFAR10_SIZE
    elif arch.family == "torchvision":
        weights = _torchvision_weights(arch.name)
        if weights is not None:
            transform = weights.transforms()
            mean, std, size = transform.mean, transform.std, transform.crop_size[0]
    elif arch.family == "timm":
        from timm import get_pretrained_cfg

        config = get_pretrained_cfg(arch.name)
        if config is not None:
            mean, std = config.mean or mean, config.std or std
            size = config.input_size[1] if config.input_size else size
    return tuple(mean), tuple(std), size


def smallest_size(arch: Architecture) -> int:
    """The least side in pixels that torchvision or timm gives for an architecture, 1 where it says nothing."""
    if arch.family == "torchvision":
        weights = _torchvision_weights(arch.name)
        return weights.meta["min_size"][0] if weights is not None else 1
    if arch.family == "timm":
        from timm import get_pretrained_cfg

        config = get_pretrained_cfg(arch.name)
        if config is not None and config.fixed_input_size:
            return config.input_size[1]
    return 1


def _torchvision_weights(name: str) -> Any:
    """The member of torchvision's enumeration of weights that it takes by default, or None."""
    from torchvision.models import get_model_weights

    return getattr(get_model_weights(name), "DEFAULT", None)
