"""A fastai loader of small images that are all in memory, as one tensor of bytes on the device that trains.

    loader = TensorDL(datasets.subset(0), bs=64, pixels=Pixels(32), augment=Shifts(padding=4), ...)

A batch is picked, augmented and normalised by a few operations on tensors. Items, decoding, ``show_batch`` and
``test_dl`` are fastai's own.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch
from fastai.data.core import TfmdDL
from fastai.torch_core import TensorCategory
from fastai.vision.core import TensorImage
from fastcore.basics import chunked
from torch import Tensor

from data.balanced_loader import BalancedDL
from data.pixels import Pixels
from data.scan import Sample
from data.shifts import Shifts


class TensorDL(TfmdDL):
    """A ``TfmdDL`` of ``Datasets`` whose items are `Sample` objects, all of the network's size or resized to it once.

    What training randomly does to an image is drawn from the loader's own generator, whatever else is random.

    Parameters
    ----------
    pixels
        Where images that are files come from, and their size.
    augment
        Done to the images of the training split; None for nothing.
    flip_seed
        Of the first pass's flips, where they alternate; None to draw it.

    Attributes
    ----------
    passes : int
        Times that the loader was gone through: flips that alternate depend on it, so a checkpoint keeps it.
    """

    def __init__(self, dataset, *args, pixels: Pixels, augment: Shifts | None = None, flip_seed=None, **options):
        self.pixels, self.augment, self.passes = pixels, augment, 0
        self._stock: tuple[Tensor, ...] | None = None
        super().__init__(dataset, *args, **{**options, "num_workers": 0})
        self.flip_seed = self.rng.getrandbits(63) if flip_seed is None else flip_seed

    def new(self, dataset=None, cls=None, **options):
        if issubclass(cls or type(self), TensorDL):
            options = {"pixels": self.pixels, "augment": self.augment, "flip_seed": self.flip_seed} | options
        made = super().new(dataset, cls, **options)
        if isinstance(made, TensorDL) and made.dataset is self.dataset:
            made.passes, made._stock = self.passes, self._stock
        return made

    def __iter__(self) -> Iterator[tuple]:
        self.randomize()
        self.before_iter()
        for batch in self.create_batches(self.get_idxs()):
            yield self.after_batch(batch)
        self.after_iter()

    def create_batches(self, samps: Iterable[int]) -> Iterator[tuple]:
        """Bytes (N, 3, size, size), channels last in memory, and labels (N,), on the device, before ``after_batch``."""
        images, *labels = self._in_memory()
        # A generator of this pass's own: what is drawn depends on where `rng` stands, and on nothing else.
        generator, passes = torch.Generator().manual_seed(self.rng.getrandbits(63)), self.passes
        self.passes += 1
        training = self.augment is not None and getattr(self.dataset, "split_idx", None) == 0
        flips = self.augment.first_flips(len(images), self.flip_seed) if training else None
        for chunk in chunked(samps, self.bs, self.drop_last):
            places = torch.tensor(chunk)
            index = places.to(images.device, non_blocking=True)
            batch = images[index]
            if training:
                mask = None if flips is None else flips[places] ^ (passes % 2 == 1)
                batch = self.augment(batch, generator, mask)
            yield (TensorImage(batch.permute(0, 3, 1, 2)), *(TensorCategory(values[index]) for values in labels))

    def _in_memory(self) -> tuple[Tensor, ...]:
        """Images, uint8 (N, size, size, 3), and labels, int64 (N,), if there are any, on the device."""
        if self._stock is None:
            opened, *labelled = self.dataset.tls
            squares = np.stack([self._square(item) for item in opened.items])
            places = [[names.vocab.o2i[sample.label] for sample in names.items] for names in labelled]
            self._stock = (torch.from_numpy(squares), *map(torch.tensor, places))
        if self.device is not None:
            self._stock = tuple(values.to(self.device) for values in self._stock)
        return self._stock

    def _square(self, item: Any) -> np.ndarray:
        source, size = item.source if isinstance(item, Sample) else item, self.pixels.size
        ready = isinstance(source, np.ndarray) and source.shape == (size, size, 3) and source.dtype == np.uint8
        return source if ready else self.pixels.square(source)


class BalancedTensorDL(TensorDL, BalancedDL):
    """A `TensorDL` that draws by weights."""
