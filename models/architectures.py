"""From the name of an architecture to what it is.

find("resnet18")                            # Architecture(name='resnet18', family='torchvision')
names("resnet*_cifar")                      # all that match

Importing this file is cheap: torch, torchvision and timm are imported when a function needs them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

from models.errors import ModelError, did_you_mean
from models.own import load_own


@dataclass(frozen=True)
class Architecture:
    """A name that `find` has recognised."""

    name: str
    """As the user gave it, with timm's `.tag` if there was one."""

    family: Literal["cifar", "torchvision", "timm", "own"]
    """Who builds it: `models.cifar_resnet` or `models.airbench`, torchvision, timm, or the user's own callable."""


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
        One of `names()`; a timm name with a `.tag`; or `package.module:callable`, see `models.own`.

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
    hint = did_you_mean(base.lower(), names())
    raise ModelError(f"unknown architecture {name!r}{hint} (--list-archs shows all)")


def cifar_networks() -> dict[str, Callable[[int], Any]]:
    """Our own networks for 32 px images, by name; each is called with the number of classes."""
    from models.airbench import AIRBENCH
    from models.cifar_resnet import CIFAR_RESNETS

    return CIFAR_RESNETS | AIRBENCH


def _cifar_names() -> list[str]:
    return list(cifar_networks())


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
