"""A training batch as the network sees it, with its labels.

draw_batch(denormalized(images, learn.dls), labels, learn.dls.vocab).savefig("train_batch.png")
"""

from collections.abc import Sequence

import torch
from fastai.data.core import DataLoaders
from fastai.data.transforms import Normalize
from matplotlib.figure import Figure

from app.pictures.images import draw_images

WHITE = 255


def denormalized(images: torch.Tensor, loaders: DataLoaders) -> torch.Tensor:
    """Undo the normalisation of `loaders`: float32 (N, 3, H, W), on the CPU, mostly within [0, 1]."""
    images = images.as_subclass(torch.Tensor).float().cpu()
    for step in loaders.valid.after_batch.fs:
        if isinstance(step, Normalize):
            mean, std = (value.as_subclass(torch.Tensor).cpu() for value in (step.mean, step.std))
            images = images * std + mean
    return images


def draw_batch(images: torch.Tensor, labels: torch.Tensor, classes: Sequence[str]) -> Figure:
    """Draw each image under the name of its class.

    Parameters
    ----------
    images
        float32 (N, 3, H, W); what lies outside [0, 1] is black or white.
    labels
        int64 (N,), an index into `classes`.
    """
    pixels = (images.clamp(0, 1) * WHITE).round().byte().permute(0, 2, 3, 1).numpy()
    return draw_images(list(pixels), [str(classes[label]) for label in labels.tolist()])
