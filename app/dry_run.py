"""``app.train --dry-run``: everything up to the first step, shown; nothing is trained.

dry_run(learn, settings, folder)            # writes folder/train_batch.png
"""

from pathlib import Path
from typing import Any

import torch
from fastai.learner import Learner

from app.augmentation import device_augmentation
from app.phases import plan, set_trained
from app.pictures.saving import save
from app.pictures.training_batch import denormalized, draw_batch
from app.run_pictures import TRAIN_BATCH
from callbacks.augment import augment
from callbacks.first_batch import MOST

BYTES_PER_FLOAT = 4
# The weights, their gradients, and what the optimizer keeps of each: Adam two averages, SGD one.
COPIES = {"adam": 4, "sgd": 3, "muon": 3}


def dry_run(learn: Learner, settings: dict[str, Any], folder: Path) -> int:
    """Print shapes, parameters and an estimate of memory, and draw a training batch; return exit code 0."""
    images, labels = learn.dls.train.one_batch()
    phases = [phase.name for phase in plan(settings)] or ["frozen"]
    parameters = sum(parameter.numel() for parameter in learn.model.parameters())
    set_trained(learn, phases[0])
    trainable = sum(parameter.numel() for parameter in learn.model.parameters() if parameter.requires_grad)
    set_trained(learn, phases[-1])  # of all phases the last needs most
    logits, saved = _forward(learn, images[:2])
    activations = saved / 2 * len(images)
    memory = activations + parameters * BYTES_PER_FLOAT * COPIES[settings["opt"]]
    seen = denormalized(images[:MOST], learn.dls)
    for callback in device_augmentation(settings):
        seen = augment(seen, callback.augmentation)
    picture = save(draw_batch(seen, labels[:MOST], learn.dls.vocab), folder / TRAIN_BATCH)
    print(f"images: {tuple(images.shape)} {images.dtype}, labels: {tuple(labels.shape)} {labels.dtype}")
    print(f"logits: {(len(images), *logits.shape[1:])} {logits.dtype}")
    print(f"parameters: {parameters:,}, of which {trainable:,} are trained at first")
    print(f"memory: about {memory / 2**20:,.0f} MiB for a step, {activations / 2**20:,.0f} of it activations (float32)")
    print(f"picture: {picture}")
    print(f"train: python -m app.train --config {folder / 'args.yaml'}")
    return 0


def _forward(learn: Learner, images: torch.Tensor) -> tuple[torch.Tensor, int]:
    """The logits, and the bytes that the forward pass keeps for the backward pass, weights left out."""
    weights = {parameter.data_ptr() for parameter in learn.model.parameters()}
    kept: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.data_ptr() not in weights:
            kept[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
        return tensor

    learn.model.train()
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        logits = learn.model(images.as_subclass(torch.Tensor))
    return logits.detach(), sum(kept.values())
