"""Batches of bytes to what the network takes, in one pass: float, normalised, lit differently, laid out.

    NormalizeBytes.of(mean, std, light=0.2)     # a batch transform, in place of IntToFloatTensor and Normalize

`normalized` does the work on plain tensors, on any device.
"""

import math
from collections.abc import Sequence

import torch
from fastai.data.transforms import Normalize
from fastai.vision.core import TensorImage

WHITE = 255
FORMATS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}


def normalized(
    batch: torch.Tensor,
    mean: torch.Tensor,
    std: torch.Tensor,
    *,
    light: float = 0.0,
    memory_format: torch.memory_format = torch.contiguous_format,
) -> torch.Tensor:
    """Scale bytes to [0, 1], change their light, and normalise.

    Parameters
    ----------
    batch
        uint8 (N, C, H, W), in any layout.
    mean, std
        float32 (1, C, 1, 1), for values in [0, 1].
    light
        Each image gets its own contrast, a factor from ``1 - light`` to its inverse, and brightness, up to
        ``light / 2`` of white more or less: what fastai's ``max_lighting`` does to a middle grey. 0 for none.

    Returns
    -------
    torch.Tensor
        float32 (N, C, H, W).
    """
    scale, shift = 1 / std, -mean / std
    if light:
        # On the CPU, so that one seed means the same on every device.
        contrast, brightness = (2 * torch.rand(2, len(batch), 1, 1, 1) - 1).to(batch.device, non_blocking=True)
        contrast = torch.exp(-math.log(1 - light) * contrast)
        shift = (0.5 - 0.5 * contrast + light / 2 * brightness) * scale + shift
        scale = contrast * scale
    floats = torch.empty(batch.shape, dtype=torch.float32, device=batch.device, memory_format=memory_format)
    floats.copy_(batch)
    flat, scale, shift = floats, (scale / WHITE).expand(len(batch), -1, 1, 1), shift.expand(len(batch), -1, 1, 1)
    if memory_format == torch.channels_last:
        # As rows of pixels: to broadcast over a last dimension of three is many times slower.
        flat = floats.permute(0, 2, 3, 1).flatten(2)
        scale, shift = (value.flatten(1).repeat(1, batch.shape[3])[:, None] for value in (scale, shift))
    torch.addcmul(shift, flat, scale, out=flat)
    return floats


class NormalizeBytes(Normalize):
    """fastai's Normalize for batches of bytes; floats, which are in [0, 1], are normalised as there.

    In training the light of each image is changed too.

    Attributes
    ----------
    light : float
        As of `normalized`; applied where the loader's split is the training one.
    memory_format : str
        Layout of the batches: ``contiguous`` or ``channels_last``.
    """

    def __init__(self, mean=None, std=None, axes=(0, 2, 3), light: float = 0.0):
        super().__init__(mean, std, axes)
        self.light, self.memory_format, self._training = light, "contiguous", False

    @classmethod
    def of(cls, mean: Sequence[float], std: Sequence[float], light: float = 0.0) -> "NormalizeBytes":
        """Make it from plain numbers, one a channel, on the CPU."""
        made = cls.from_stats(mean, std, cuda=False)
        made.light = light
        return made

    def __call__(self, x, split_idx=None, **options):
        self._training = split_idx == 0
        return super().__call__(x, split_idx=split_idx, **options)

    def encodes(self, x: TensorImage):
        if x.dtype != torch.uint8:
            return (x - self.mean) / self.std
        light = self.light if self._training else 0.0
        options = {"light": light, "memory_format": FORMATS[self.memory_format]}
        mean, std = (value.as_subclass(torch.Tensor) for value in (self.mean, self.std))
        return TensorImage(normalized(x.as_subclass(torch.Tensor), mean, std, **options))

    def decodes(self, x: TensorImage):
        mean, std = (value.to(x.device) for value in (self.mean, self.std))
        return (x * std + mean).clamp(0, 1)


def lay_out(loaders, memory_format: str) -> None:
    """Let the `NormalizeBytes` of fastai ``DataLoaders`` make batches in ``contiguous`` or ``channels_last``."""
    for loader in loaders.loaders:
        for step in loader.after_batch.fs:
            if isinstance(step, NormalizeBytes):
                step.memory_format = memory_format
