"""A fastai loader whose batches of images are made at once, as bytes, by threads, and ahead of the training.

    loader = PixelDL(datasets.subset(0), bs=32, pixels=Pixels(224, store), crop=Crop(0.5), ...)

Items, decoding, ``show_batch`` and ``test_dl`` are fastai's own.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from fastai.data.core import TfmdDL
from fastai.data.load import fa_collate
from fastai.data.transforms import ToTensor
from fastai.torch_core import to_device
from fastai.vision.augment import Resize
from fastai.vision.core import TensorImage
from fastcore.basics import chunked

from data.balanced_loader import BalancedDL
from data.errors import ImageError
from data.pixels import Pixels
from data.prefetch import prefetched
from data.random_crop import DRAWS, Crop, crop_into, draw
from data.scan import Sample
from data.transforms import OpenImage

AHEAD = 2  # batches; one is enough while no batch takes longer to make than a step


class PixelDL(TfmdDL):
    """A ``TfmdDL`` of ``Datasets`` whose first transform is `OpenImage`, and whose items are resized to a square.

    What training randomly does to an image is drawn from the loader's own generator, so it depends neither on
    the number of threads nor on what else is random. Items of other ``Datasets``, or with other item transforms,
    are made one by one, as in ``TfmdDL``.

    Parameters
    ----------
    pixels
        Where the images come from.
    crop
        What is done in training; None for the square of validation.
    threads
        That make images; 0 to make them when they are asked for.
    """

    def __init__(self, dataset, *args, pixels: Pixels, crop: Crop | None = None, threads: int = 1, **options):
        self.pixels, self.crop, self.threads = pixels, crop, threads
        super().__init__(dataset, *args, **{**options, "num_workers": 0})

    def new(self, dataset=None, cls=None, **options):
        if issubclass(cls or type(self), PixelDL):
            options = {"pixels": self.pixels, "crop": self.crop, "threads": self.threads} | options
        return super().new(dataset, cls, **options)

    def __iter__(self):
        if not self._at_once():
            yield from super().__iter__()
            return
        self.randomize()
        self.before_iter()
        batches = self.create_batches(self.get_idxs())
        with closing(prefetched(batches, AHEAD) if self.threads else batches) as made:
            for batch in made:
                if self.device is not None:
                    batch = to_device(batch, self.device, non_blocking=self._pinned())
                yield self.after_batch(batch)
        self.after_iter()
        if self.pixels.store is not None:
            self.pixels.store.save()

    def create_batches(self, samps: Iterable[int]) -> Iterator[tuple]:
        """Bytes (N, 3, size, size), channels last in memory, and labels; as in ``TfmdDL``, before ``after_batch``."""
        if not self._at_once():
            return super().create_batches(samps)
        # Drawn here, and not when the first batch is made in another thread.
        return self._made(samps, np.random.default_rng(self.rng.getrandbits(64)))

    def _made(self, samps: Iterable[int], rng: np.random.Generator) -> Iterator[tuple]:
        images, *labels = self.dataset.tls
        crop = self.crop if getattr(self.dataset, "split_idx", None) == 0 else None
        threads = ThreadPoolExecutor(max(1, self.threads), thread_name_prefix="images")
        each = threads.map if self.threads else map
        try:
            for chunk in chunked(samps, self.bs, self.drop_last):
                shape = (len(chunk), self.pixels.size, self.pixels.size, 3)
                batch = torch.empty(shape, dtype=torch.uint8, pin_memory=self._pinned())
                make = partial(self._fill, crop=crop)
                items = [images.items[index] for index in chunk]
                for _ in each(make, batch, items, rng.random((len(chunk), DRAWS))):
                    pass
                targets = (fa_collate([values[index] for index in chunk]) for values in labels)
                yield (TensorImage(batch.permute(0, 3, 1, 2)), *targets)
        finally:
            threads.shutdown(cancel_futures=True)

    def _fill(self, place: torch.Tensor, item: Any, numbers: np.ndarray, crop: Crop | None) -> None:
        """Put the image of `item` into its `place`, uint8 (size, size, 3)."""
        source = item.source if isinstance(item, Sample) else item
        try:
            if crop is None:
                place.numpy()[:] = self.pixels.square(source)
                return
            whole = self.pixels.presized(source)
            height, width, _ = whole.shape
            box, flip = draw(numbers, width, height, crop)
            crop_into(place, whole, box, flip)
        except ImageError:
            raise
        except Exception as error:
            name = source if isinstance(source, str | Path) else "image"
            raise ImageError(f"{name}: cannot be put into a batch ({type(error).__name__}: {error})") from error

    def _at_once(self) -> bool:
        lists = getattr(self.dataset, "tls", None)
        if not lists or self.bs is None or self.before_batch.fs:
            return False
        opening, after = ([type(step) for step in steps] for steps in (lists[0].tfms.fs, self.after_item.fs))
        return (
            opening == [OpenImage] and after == [Resize, ToTensor] and set(self.after_item.size) == {self.pixels.size}
        )

    def _pinned(self) -> bool:
        return self.device is not None and torch.device(self.device).type == "cuda"


class BalancedPixelDL(PixelDL, BalancedDL):
    """A `PixelDL` that draws by weights."""
