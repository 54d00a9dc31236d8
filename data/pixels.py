"""The pixels of a data set's images, from the cache where they are, else decoded and put there.

pixels = Pixels(224, PixelStore())
pixels.square(path)                         # uint8 (224, 224, 3), as validation sees it
pixels.presized(path)                       # uint8 (height, width, 3), to take crops from
"""

import threading
from collections.abc import Collection
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from data import forms
from data.errors import ImageError
from data.facts_cache import Stamp, stamp_of
from data.pixel_store import PixelStore
from data.reader import is_reduced, read_image

SMALL_SIDE = 64  # px; up to here decoding is cheaper than keeping, or handing images between processes


class Pixels:
    """For threads. An image is decoded once for both its forms.

    Parameters
    ----------
    size
        Side in pixels of the square that the network sees.
    store
        None to decode every time.

    Attributes
    ----------
    trained : collection of Path, or None
        The files that are kept presized too; None for all.
    truncated : bool
        As of `read_image`; images are decoded one after the other then.
    """

    def __init__(self, size: int, store: PixelStore | None = None):
        self.size, self.store, self.truncated = size, store, False
        self.trained: Collection[Path] | None = None
        self._stamps: dict[Path, Stamp | None] = {}
        self._alone = threading.Lock()

    def square(self, source: Any) -> np.ndarray:
        """What `source` looks like in validation: uint8 (size, size, 3).

        Raises
        ------
        ImageError
            It cannot be read.
        """
        return self._get(source, "square")

    def presized(self, source: Any) -> np.ndarray:
        """The whole image with a shorter side of `forms.PRESIZE` times `size` at most: uint8 (height, width, 3).

        Raises
        ------
        ImageError
            It cannot be read.
        """
        return self._get(source, "presized")

    def keep(self, path: Path, stamp: Stamp | None, image: Image.Image) -> None:
        """Take for the cache what somebody else has decoded at full size from the file that had this `stamp`."""
        if self.store is None or self.store.full or stamp is None or max(image.size) <= SMALL_SIDE:
            return
        self._stamps[path] = stamp
        if any(self.store.get(path, stamp, self._key(form)) is None for form in self._forms_of(path)):
            with suppress(ImageError):  # gone meanwhile: it will be said when it is needed
                if is_reduced(image, self.size):
                    image = read_image(path, for_size=self.size)
                self._put(path, stamp, image)

    def _get(self, source: Any, form: str) -> np.ndarray:
        if self.store is None or not isinstance(source, Path):
            return self._made(self._read(source), form)
        if source not in self._stamps:  # once a run: it goes on with what it has begun with
            self._stamps[source] = stamp_of(source)
        stamp = self._stamps[source]
        found = None if stamp is None else self.store.get(source, stamp, self._key(form))
        if found is not None:
            return found
        image = self._read(source)
        if stamp is not None and not self.store.full:
            self._put(source, stamp, image)
        return self._made(image, form)

    def _put(self, path: Path, stamp: Stamp, image: Image.Image) -> None:
        for form in self._forms_of(path):
            self.store.put(path, stamp, self._key(form), self._made(image, form))

    def _forms_of(self, path: Path) -> tuple[str, ...]:
        return ("square", "presized") if self.trained is None or path in self.trained else ("square",)

    def _made(self, image: Image.Image, form: str) -> np.ndarray:
        return np.asarray(getattr(forms, form)(image, self.size))

    def _key(self, form: str) -> str:
        return f"{form} {self.size}"

    def _read(self, source: Any) -> Image.Image:
        with self._alone if self.truncated else nullcontext():
            return read_image(source, for_size=self.size, truncated=self.truncated)
