"""Batches on the XLA device, read and uploaded by threads while the device works on those before.

loader = DeviceLoader(learn.dls.train, device)
for batch in loader: ...
loader.close()                              # also when the loop was left early
"""

from collections.abc import Iterator
from typing import Any

import torch
from fastai.torch_core import to_detach

# Batches waiting on the host, and on the device: what a loader keeps ahead of the training, in memory.
HOST_AHEAD, DEVICE_AHEAD = 4, 2


class DeviceLoader:
    """Stands in the place of a fastai loader, and has its attributes.

    Parameters
    ----------
    loader
        Makes batches on the CPU; its transforms run there, in a thread.
    sharding
        How a batch is laid out over several devices; None for one.
    """

    def __init__(self, loader: Any, device: torch.device, sharding: Any = None):
        self.loader, self._device, self._sharding, self._feed = loader, device, sharding, None

    def __getattr__(self, name: str) -> Any:
        if name == "loader":
            raise AttributeError(name)
        return getattr(self.loader, name)

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[tuple]:
        from torch_xla.distributed.parallel_loader import ParallelLoader

        self.close()
        source = _PlainBatches(self.loader)
        self._feed = ParallelLoader(
            source,
            [self._device],
            loader_prefetch_size=HOST_AHEAD,
            device_prefetch_size=DEVICE_AHEAD,
            input_sharding=self._sharding,
        )
        try:
            yield from self._feed.per_device_loader(self._device)
            if source.error is not None:
                raise source.error
        finally:
            self.close()

    def close(self) -> None:
        """End the threads; a batch that is being read is waited for."""
        feed, self._feed = self._feed, None
        if feed is not None:
            feed.close()

    def to_detach(self, batch: Any, cpu: bool = True, gather: bool = True) -> Any:
        """What ``Learner.to_detach`` calls for metrics: detached, but left on the device."""
        return to_detach(batch, cpu=False, gather=False)


class _PlainBatches:
    """Batches of plain tensors, the only kind that torch_xla's loader uploads.

    An exception of the data set ends the iteration and is kept in `error`: torch_xla's thread would lose it,
    and the epoch would just be shorter.
    """

    def __init__(self, loader: Any):
        self._loader, self.error = loader, None

    def __len__(self) -> int:
        return len(self._loader)

    def __iter__(self) -> Iterator[Any]:
        try:
            for batch in self._loader:
                yield _plain(batch)
        except Exception as error:
            self.error = error


def _plain(batch: Any) -> Any:
    if isinstance(batch, torch.Tensor):
        return batch.as_subclass(torch.Tensor)
    if isinstance(batch, (list, tuple)):
        return tuple(_plain(part) for part in batch)
    if isinstance(batch, dict):
        return {name: _plain(part) for name, part in batch.items()}
    return batch
