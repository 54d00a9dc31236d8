"""Images of noise, already in memory, where a study is about the network and no data set is at hand.

loaders = noise(1024, 224, 128, torch.device("cpu"))
"""

import torch
from fastai.data.core import DataLoaders

CLASSES = tuple(f"class {index}" for index in range(10))
VALID_SHARE = 0.2


class Noise(torch.utils.data.Dataset):
    """`count` float32 images (3, size, size) and labels; a few images, again and again, to save memory."""

    def __init__(self, count: int, size: int, distinct: int = 64):
        generator = torch.Generator().manual_seed(0)
        self._images = torch.randn(min(count, distinct), 3, size, size, generator=generator)
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        if not 0 <= index < self._count:
            raise IndexError(index)
        position = index % len(self._images)
        return self._images[position], torch.tensor(position % len(CLASSES))


def noise(count: int, size: int, batch_size: int, device: torch.device) -> DataLoaders:
    """Loaders of `count` training images and a fifth of it for validation."""
    valid = max(2, int(count * VALID_SHARE))
    train_set, valid_set = Noise(count, size), Noise(valid, size)
    return DataLoaders.from_dsets(train_set, valid_set, bs=min(batch_size, count), device=device, num_workers=0)
