"""Train on from an earlier model: what a new network takes over from it.

spec = settled_by(spec, source)             # its normalisation
known = take_over(learn.model, spec.classes, source)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from models.errors import ModelError
from models.spec import Spec

if TYPE_CHECKING:
    from torch import Tensor, nn


def architecture_of(source: Any) -> str:
    """The name of a loaded model's architecture.

    Raises
    ------
    ModelError
        It does not say.
    """
    name = getattr(source, "facts", {}).get("architecture")
    if name is None:
        raise ModelError("does not say which architecture it is: give --arch as well")
    return name


def settled_by(spec: Spec, source: Any) -> Spec:
    """`spec` with the normalisation that the weights of `source` are used to; `source` may be None."""
    preparation = getattr(source, "preparation", None)
    return spec if preparation is None else replace(spec, mean=preparation.mean, std=preparation.std)


def take_over(network: nn.Module, classes: Sequence[str], source: Any) -> int:
    """Copy the weights of `source` into `network`, in place.

    Of the last layer, the rows of the classes that both know by name are taken. A head of another form keeps its own
    weights.

    Returns
    -------
    int
        How many classes the last layer knows already.

    Raises
    ------
    ModelError
        Another network: what comes before the head does not fit.
    """
    import torch
    from torch import nn

    theirs = source.network.state_dict() if hasattr(source, "network") else {}
    temperature = getattr(source, "facts", {}).get("temperature", 1.0)  # of its validation images, not of what comes
    ours = network.state_dict()
    last = [name for name, module in network.named_modules() if isinstance(module, nn.Linear)][-1]
    final = (f"{last}.weight", f"{last}.bias")
    missing = [name for name in ours if name not in final and not _fits(ours[name], theirs.get(name))]
    has_head = isinstance(network, nn.Sequential) and len(network) == 2
    strange = [name for name in missing if not (has_head and name.startswith("1."))]
    if strange:
        raise ModelError(
            f"the weights to start from are of another network: no {strange[0]} of this size "
            f"({len(strange)} of {len(ours)} do not fit); give --arch and --img-size as they were"
        )
    known = [name for name in classes if name in source.classes] if not missing else []
    with torch.no_grad():
        for name, tensor in ours.items():
            if name in final:
                if name in theirs and theirs[name].shape[1:] == tensor.shape[1:]:
                    for label in known:
                        tensor[classes.index(label)] = temperature * theirs[name][source.classes.index(label)]
            elif name not in missing:
                tensor.copy_(theirs[name])
    return len(known)


def _fits(ours: Tensor, theirs: Tensor | None) -> bool:
    return theirs is not None and theirs.shape == ours.shape
