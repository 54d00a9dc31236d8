"""What a Learner that was read as placeholders says of its classes and of how it prepares images.

classes = vocabulary_of(learn.state["dls"])
preparation = preparation_of(learn.state["dls"])
"""

from typing import Any

import torch

from models.errors import ModelError
from models.placeholders import Placeholder, is_a, objects
from models.preparation import Preparation
from models.resizing import METHODS, PADDING

AUGMENT = "fastai.vision.augment."
TRAINING_ONLY = 0  # fastai's split_idx of what validation and prediction leave out
WHITE = 255  # by which every prediction divides
# Of the random ones, those that fastai applies in training alone, unless they were told otherwise.
AUGMENTATIONS = ("RandTransform", "RandomErasing", "Hue", "Saturation", "Brightness", "Contrast", "LightingTfm")


def vocabulary_of(loaders: Any) -> list[str]:
    """The names of the classes, in the order of the outputs.

    Raises
    ------
    ModelError
        It has no labels of one class per image.
    """
    found = [part for part in objects(loaders) if is_a(part, "fastai.data.transforms.CategoryMap")]
    if not found:
        raise ModelError("has no class names: only models that tell classes apart can be predicted")
    names = found[0].state.get("items")
    if isinstance(names, Placeholder):  # fastcore's L
        names = names.state.get("items")
    if not isinstance(names, list) or not names:
        raise ModelError("has no class names: only models that tell classes apart can be predicted")
    return [str(name) for name in names]


def preparation_of(loaders: Any) -> Preparation:
    """How its validation prepared images.

    Raises
    ------
    ModelError
        It has a transform that only fastai can carry out.
    """
    loader = loaders.state["loaders"][-1]
    settings: dict[str, Any] = {"size": None}
    for step in [*_steps(loader, "after_item"), *_steps(loader, "before_batch"), *_steps(loader, "after_batch")]:
        kind = step.origin[1]
        if kind == "Resize":
            settings |= _resize(step)
        elif kind == "Normalize":
            mean, std = (torch.as_tensor(step.state[name]).flatten().tolist() for name in ("mean", "std"))
            settings |= {"mean": tuple(mean), "std": tuple(std)}
        elif kind != "ToTensor" and not _divides_by_white(step) and not _is_for_training(step):
            raise ModelError(f"prepares images with {kind}: --trust loads it as fastai does, if you trust its maker")
    return Preparation(**settings)


def _steps(loader: Placeholder, name: str) -> list[Placeholder]:
    pipeline = loader.state.get(name)
    if not is_a(pipeline, "fasttransform.transform.Pipeline", "fastcore.transform.Pipeline"):
        return []
    steps = pipeline.state.get("fs", [])
    return steps.state["items"] if isinstance(steps, Placeholder) else steps


def _resize(step: Placeholder) -> dict[str, Any]:
    """The settings of fastai's ``Resize``, whose size is (width, height)."""
    size, method, padding = (step.state.get(name) for name in ("size", "method", "pad_mode"))
    width, height = size.args[0] if isinstance(size, Placeholder) else size
    if method not in METHODS or padding not in PADDING:
        raise ModelError(f"resizes images in an unknown way ({method}, {padding})")
    return {"size": (int(width), int(height)), "resize": method, "padding": padding}


def _divides_by_white(step: Placeholder) -> bool:
    return is_a(step, "fastai.data.transforms.IntToFloatTensor") and step.state.get("div") == WHITE


def _is_for_training(step: Placeholder) -> bool:
    """Whether validation leaves it out, or it does nothing to the pixels there."""
    if ".".join(step.origin) in {AUGMENT + kind for kind in AUGMENTATIONS}:
        return step.state.get("split_idx", TRAINING_ONLY) == TRAINING_ONLY
    # Flips, rotations and the like move nothing in validation: they resample each pixel at its own place.
    return is_a(
        step, *(AUGMENT + kind for kind in ("AffineCoordTfm", "Flip", "Dihedral", "Rotate", "Zoom", "Warp"))
    ) and (step.state.get("size") is None)
