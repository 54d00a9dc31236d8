"""The state of every generator that a training draws from, to be put back in another process.

state = random_state(learn.dls.loaders)
...
restore_random_state(state, learn.dls.loaders)
"""

import random
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch


def random_state(loaders: Iterable[Any]) -> dict[str, Any]:
    """The states of Python's, NumPy's and torch's generators, of each GPU's, and of each loader's own.

    Beside them the loaders' ``passes``, where they count them: what they do may alternate.

    A fastai loader shuffles by a generator of its own, ``rng``; what its worker processes draw follows from torch's.
    All values are tensors, numbers, tuples and None, which ``torch.load(weights_only=True)`` takes.
    """
    name, keys, position, has_gauss, gauss = np.random.get_state()
    return {
        "python": random.getstate(),
        "numpy": (name, torch.from_numpy(keys.astype(np.int64)), position, has_gauss, gauss),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else [],
        "mps": torch.mps.get_rng_state() if torch.backends.mps.is_available() else None,
        "loaders": [loader.rng.getstate() if hasattr(loader, "rng") else None for loader in loaders],
        "passes": [getattr(loader, "passes", None) for loader in loaders],
    }


def restore_random_state(state: dict[str, Any], loaders: Iterable[Any]) -> None:
    """Put back what `random_state` returned; generators of GPUs that are not here are left out."""
    random.setstate(state["python"])
    name, keys, *rest = state["numpy"]
    np.random.set_state((name, keys.numpy().astype(np.uint32), *rest))
    torch.set_rng_state(state["torch"])
    if torch.cuda.is_available() and len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(state["cuda"])
    if state["mps"] is not None and torch.backends.mps.is_available():
        torch.mps.set_rng_state(state["mps"])
    for loader, kept, passes in zip(loaders, state["loaders"], state["passes"]):
        if kept is not None and hasattr(loader, "rng"):
            loader.rng.setstate(kept)
        if passes is not None:
            loader.passes = passes
