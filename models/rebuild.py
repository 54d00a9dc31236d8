"""A trained network made anew from a few plain values, without fastai: for prediction, and for other formats.

description = describe(learn.model, spec.arch)
network = rebuild(description, classes=3, weights=state_dict)

A description names an architecture of ours, of torchvision or of timm; nothing is ever downloaded.
"""

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from models import layers
from models.architectures import Architecture, cifar_networks
from models.errors import ModelError, brief, reason_of
from models.light_import import import_lightly
from models.own import load_own

DAMAGED = "its description is damaged: export the model again"


def describe(network: nn.Module, arch: Architecture) -> dict[str, Any]:
    """How to make `network` again; the keys ``architecture``, ``family`` and ``structure``.

    Raises
    ------
    ModelError
        It is not put together as `models.learner` does.
    """
    return {"architecture": arch.name, "family": arch.family, "structure": _structure(network, arch)}


def _structure(network: nn.Module, arch: Architecture) -> dict[str, Any]:
    if arch.family in ("cifar", "own"):
        return {"kind": "whole"}
    if isinstance(network, nn.Sequential) and len(network) == 2:  # fastai's body and head
        body, head = network
        if arch.family == "timm":
            return {"kind": "timm body", "features": bool(body.needs_pool), "head": layers.describe(head)}
        return {"kind": "body", "children": len(body), "head": layers.describe(head)}
    size = {"image_size": network.image_size} if hasattr(network, "image_size") else {}  # torchvision's transformers
    return {"kind": "classifier", **size}


def rebuild(
    description: Mapping[str, Any], classes: int, weights: Mapping[str, Tensor], trust: bool = False
) -> nn.Module:
    """The network of a description, in evaluation mode, with `weights` (float32 tensors by their names).

    Raises
    ------
    ModelError
        An unknown architecture or structure; weights that do not fit; or a network of the user's own, whose
        module would be imported, without `trust`.
    """
    try:
        with nullcontext() if description.get("family") == "own" else _WithoutInitialValues():
            network = _build(description, classes, trust)
        network.load_state_dict(weights, strict=True, assign=True)
    except ModelError:
        raise
    except Exception as error:  # whatever a builder makes of a damaged description
        raise ModelError(f"cannot be put together ({reason_of(error, 160)}): export it again") from error
    return network.requires_grad_(False).eval()


class _WithoutInitialValues(TorchFunctionMode):
    """Leaves out the drawing of initial values, which takes longer than reading those that replace them."""

    RANDOM = (Tensor.normal_, Tensor.uniform_, Tensor.erfinv_)

    def __torch_function__(self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        if function in self.RANDOM or getattr(function, "__module__", "") == "torch.nn.init":
            return args[0] if args else kwargs["tensor"]
        return function(*args, **kwargs)


def _build(description: Mapping[str, Any], classes: int, trust: bool) -> nn.Module:
    name, family, structure = (description.get(key) for key in ("architecture", "family", "structure"))
    kind = structure.get("kind") if isinstance(structure, dict) else None
    if not isinstance(name, str):
        raise ModelError(DAMAGED)
    if family == "own":
        if not trust:
            raise ModelError(f"runs the code of {brief(name)[1:-1]}: give --trust if you trust it")
        return _own(name, classes)
    if family == "cifar" and kind == "whole":
        if name not in cifar_networks():
            raise ModelError(f"needs the architecture {brief(name)}, which this version does not have")
        return cifar_networks()[name](classes)
    if family == "timm" and kind == "timm body":
        body = layers.TimmBody(_timm(name, num_classes=0), structure["features"])
        return nn.Sequential(body, layers.build(structure["head"]))
    if family == "torchvision" and kind == "body":
        children = list(_torchvision(name).children())[: structure["children"]]
        return nn.Sequential(nn.Sequential(*children), layers.build(structure["head"]))
    if family in ("timm", "torchvision") and kind == "classifier":
        options = {"image_size": structure["image_size"]} if "image_size" in structure else {}
        network = _timm(name) if family == "timm" else _torchvision(name, **options)
        replace_classifier(network, classes)
        return network
    raise ModelError(DAMAGED)


def _own(name: str, classes: int) -> nn.Module:
    try:
        network = load_own(name)(classes)
    except SystemExit as error:  # the user's code may exit
        raise ModelError(f"cannot be put together: {brief(name)[1:-1]} ended the program") from error
    if not isinstance(network, nn.Module):
        raise ModelError(f"cannot be put together: {brief(name)[1:-1]} made a {type(network).__name__}, no network")
    return network


def replace_classifier(network: nn.Module, classes: int) -> str:
    """Put a new last linear layer for `classes` in, and take auxiliary classifiers out; the layer's name."""
    if getattr(network, "aux_logits", False):  # GoogLeNet and Inception return a tuple with them
        network.aux_logits = False
        for name in ("aux1", "aux2", "AuxLogits"):
            if hasattr(network, name):
                setattr(network, name, None)
    name, last = [(name, module) for name, module in network.named_modules() if isinstance(module, nn.Linear)][-1]
    network.set_submodule(name, nn.Linear(last.in_features, classes))
    return name


def _timm(name: str, **options: Any) -> nn.Module:
    timm = import_lightly("timm")
    if "/" in name or ":" in name or not timm.is_model(name.partition(".")[0]):
        raise ModelError(f"needs the architecture {brief(name)}, which timm {timm.__version__} does not have")
    return timm.create_model(name, pretrained=False, **options)


def _torchvision(name: str, **options: Any) -> nn.Module:
    from torchvision import models

    if name not in models.list_models(module=models):
        raise ModelError(f"needs the architecture {brief(name)}, which this torchvision does not have")
    if name in ("googlenet", "inception_v3"):
        options["init_weights"] = False
    return models.get_model(name, weights=None, **options)
