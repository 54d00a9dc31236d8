"""Images read and resized by threads, a few ahead of who uses them, in their order.

for name, image in read_ahead(sources, predictor.prepare, for_size=224):
    ...                                     # image is a PIL.Image, or the ImageError that says why not
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

from PIL import Image

from data import ImageError, read_image
from data.reader import Source

T = TypeVar("T")

MAX_THREADS = 16
AHEAD = 16  # prepared images that wait for each thread; they are small


def read_ahead(
    sources: Iterable[tuple[T, Source]],
    prepare: Callable[[Image.Image], Image.Image],
    for_size: int | None,
    truncated: bool = False,
) -> Iterator[tuple[T, Image.Image | ImageError]]:
    """Yield each name, whatever it is, with its image, read, and prepared by `prepare`.

    Pillow's decoders let other threads run, so this takes place beside the forward pass.
    """
    threads = min(os.cpu_count() or 1, MAX_THREADS)

    def read(source: Source) -> Image.Image | ImageError:
        try:
            return prepare(read_image(source, for_size=for_size, truncated=truncated))
        except ImageError as error:
            return error

    rest = iter(sources)
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[tuple[T, Future]] = deque()
        try:
            while True:
                for name, source in islice(rest, AHEAD * threads - len(waiting)):
                    waiting.append((name, pool.submit(read, source)))
                if not waiting:
                    return
                name, future = waiting.popleft()
                yield name, future.result()
        finally:  # who uses them may stop early
            for _, future in waiting:
                future.cancel()
