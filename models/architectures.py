"""From the name of an architecture to what it is, and to the images it expects.

    arch = find("resnet18")                  # Architecture(name='resnet18', family='torchvision')
    mean, std, size = stats_and_size(arch)

Importing this file is cheap: torch, torchvision and timm are imported when a function needs them.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal

from models.errors import ModelError

if TYPE_CHECKING:
    from torch import nn

Statistics = tuple[float, float, float]

IMAGENET_MEAN: Statistics = (0.485, 0.456, 0.406)
IMAGENET_STD: Statistics = (0.229, 0.224, 0.225)
IMAGENET_SIZE = 224
CIFAR10_MEAN: Statistics = (0.4914, 0.4822, 0.4465)
CIFAR10_STD: Statistics = (0.2470, 0.2435, 0.2616)
CIFAR10_SIZE = 32


@dataclass(frozen=True)
class Architecture:
    """A name that `find` has recognised."""

    name: str
    """As the user gave it, with timm's `.tag` if there was one."""

    family: Literal["cifar", "torchvision", "timm", "own"]
    """Who builds it: `models.cifar_resnet`, torchvision, timm, or the user's own callable."""


def names(pattern: str | None = None) -> list[str]:
    """All known architectures: ours, then torchvision's classifiers, then timm's other ones.

    Parameters
    ----------
    pattern : str, optional
        Keep what matches this shell pattern ("resnet*_cifar"), or, where it has none of `*?[`,
        what contains it.
    """
    known = list(dict.fromkeys([*_cifar_names(), *_torchvision_names(), *_timm_names()]))
    if pattern is None:
        return known
    if not any(wildcard in pattern for wildcard in "*?["):
        pattern = f"*{pattern}*"
    return [name for name in known if fnmatchcase(name, pattern)]


def find(name: str) -> Architecture:
    """Recognise a name, and import the module of a user's own architecture to see that it is there.

    A name that both torchvision and timm know is torchvision's, because fastai knows where to cut
    and split torchvision's networks. timm's one is had by its tag: `resnet18.a1_in1k`.

    Parameters
    ----------
    name : str
        One of `names()`; a timm name with a `.tag`; or `package.module:callable`, see `load_own`.

    Raises
    ------
    ModelError
        When there is no such architecture, tag, module or callable.
    """
    if "/" in name or name.startswith(("hf-hub:", "hf_hub:")):
        raise ModelError(
            f"architecture {name!r} is not a name: give one that --list-archs shows, "
            "or package.module:callable for your own"
        )
    if ":" in name:
        load_own(name)
        return Architecture(name, "own")
    if name in _cifar_names():
        return Architecture(name, "cifar")
    if name in _torchvision_names():
        return Architecture(name, "torchvision")
    base, dot, tag = name.partition(".")
    if base in _timm_names():
        if dot:
            _check_tag(base, tag)
        return Architecture(name, "timm")
    hint = _did_you_mean(base.lower(), names())
    raise ModelError(f"unknown architecture {name!r}{hint} (--list-archs shows all)")


def load_own(name: str) -> Callable[[int], nn.Module]:
    """Import `package.module:callable`; called with the number of classes, it gives the network.

    The module is looked up among the installed ones and in the current working directory. That
    directory goes to the end of `sys.path`, so that no file in it hides an installed package, and
    stays there, because the callable may import its neighbours when it is called.

    Raises
    ------
    ModelError
        When `name` has another form, the module is not there or raises while it is imported, or
        the attribute is not there or cannot be called.
    """
    module_name, _, attribute = name.partition(":")
    if not all(part.isidentifier() for part in [*module_name.split("."), attribute]):
        raise ModelError(f"architecture {name!r} is not of the form package.module:callable")
    if not {"", os.getcwd()} & set(sys.path):  # "" also stands for the working directory
        sys.path.append(os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # the user's code may raise anything, or exit
        absent = error.name if isinstance(error, ModuleNotFoundError) else None
        if absent and f"{module_name}.".startswith(f"{absent}."):  # it, not what it imports
            problem = f"no module {absent!r} here or among the installed packages"
        else:
            message = " ".join(str(error).split())
            problem = f"importing {module_name!r} raised {type(error).__name__}: {message}"
        raise ModelError(f"architecture {name!r}: {problem}") from error
    if not hasattr(module, attribute):
        hint = _did_you_mean(attribute, vars(module))
        raise ModelError(f"architecture {name!r}: module {module_name!r} has no {attribute!r}{hint}")
    build = getattr(module, attribute)
    if not callable(build):
        raise ModelError(
            f"architecture {name!r}: {attribute!r} is of type {type(build).__name__} and cannot "
            "be called with the number of classes"
        )
    return build


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
        from torchvision.models import get_model_weights

        weights = getattr(get_model_weights(arch.name), "DEFAULT", None)
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


def _cifar_names() -> list[str]:
    from models.cifar_resnet import CIFAR_RESNETS

    return list(CIFAR_RESNETS)


def _torchvision_names() -> list[str]:
    import torchvision

    # The module keeps segmentation, detection, video and quantized models out: they live below it.
    return torchvision.models.list_models(module=torchvision.models)


def _timm_names() -> list[str]:
    import timm

    return timm.list_models()


def _check_tag(base: str, tag: str) -> None:
    import timm

    try:
        timm.get_pretrained_cfg(f"{base}.{tag}")
    except RuntimeError as error:
        tags = [known.partition(".")[2] for known in timm.list_pretrained(base)]
        there_are = ", ".join(filter(None, tags)) or "none"
        raise ModelError(f"architecture {base!r} has no weights tagged {tag!r}; its tags: {there_are}") from error


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    close = get_close_matches(word, known)  # at most three
    return f": did you mean {', '.join(close)}?" if close else ""
