"""Batch sizes that fit into memory: found beforehand by ``--batch-size auto``, halved when memory runs out.

size, reason = probe(learn, work, way, limit)       # CUDA
set_batch_size(learn, size)
"""

from collections.abc import Callable

import torch
from fastai.data.core import DataLoaders
from fastai.learner import Learner

from app.trial import Copy, Way, Work

SMALLEST, LARGEST = 8, 1024  # images; larger batches make a GPU no faster
SHARE = 0.8  # of the free memory: batches differ, and cuDNN tries kernels that want more
STEPS_AN_EPOCH = 8  # at least, however much memory there is


def largest_batch(step: Callable[[int], int], free: int, limit: int) -> int:
    """The largest power of two up to `limit` whose step stays within `SHARE` of `free` bytes.

    Parameters
    ----------
    step
        Runs a step of so many images and returns the peak of memory in bytes, or raises ``OutOfMemoryError``.
    """
    size = fitting = min(SMALLEST, limit)
    while size <= min(limit, LARGEST):
        try:
            if step(size) > SHARE * free:
                break
        except torch.OutOfMemoryError:
            break
        fitting, size = size, 2 * size
    return fitting


def probe(learn: Learner, work: Work, way: Way, images: int) -> tuple[int, str]:
    """Try real steps of a copy of the model on a CUDA device; return the batch size and the reason.

    Parameters
    ----------
    images
        Training images there are.
    """
    device = work.device
    free = torch.cuda.mem_get_info(device)[0]

    def step(size: int) -> int:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
        with torch.random.fork_rng(devices=[device]):
            copied = Copy(learn, work, way.memory_format)
            images = torch.randn(size, 3, work.size, work.size, device=device)
            for _ in range(2):  # the second has the optimizer's state beside it
                copied.step(images, way.amp)
        return torch.cuda.max_memory_reserved(device)

    size = largest_batch(step, free, max(2, images // STEPS_AN_EPOCH))
    torch.cuda.empty_cache()
    return size, f"the largest power of two within {SHARE:.0%} of {free / 2**30:.1f} GB free memory"


def set_batch_size(learn: Learner, size: int) -> None:
    """Give the Learner loaders of the same data that make batches of `size`."""
    loaders = [loader.new(bs=size) for loader in learn.dls.loaders]
    learn.dls = DataLoaders(*loaders, path=learn.dls.path, device=learn.dls.device)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a device, or the CPU, had no memory left."""
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)
