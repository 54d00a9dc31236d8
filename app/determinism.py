"""Equal runs for equal settings: what has to be seeded and set for it.

repeatable(seed=42, everywhere=args.deterministic)

On a CPU two runs with the same seed and threads are equal to the last bit. On a GPU some of the fastest kernels add in
whatever order their threads arrive; `everywhere` does without those.
"""

import os

import torch
from fastai.torch_core import set_seed

# cuBLAS reads it when its first handle is made: with a workspace of its own each stream repeats its results
# (https://docs.nvidia.com/cuda/cublas/#results-reproducibility).
WORKSPACE = ("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


def repeatable(seed: int, everywhere: bool = False) -> None:
    """Seed Python, NumPy and torch, from which loaders and their workers are seeded; take deterministic cuDNN kernels.

    Parameters
    ----------
    everywhere
        Take deterministic kernels for all of torch's operations, before anything is computed on a GPU. torch warns of
        operations that have none.
    """
    set_seed(seed % 2**32, reproducible=True)
    if everywhere:
        os.environ.setdefault(*WORKSPACE)
    # Not an error: fastai's head pools to one pixel, which repeats, but torch says of all sizes that it may not.
    torch.use_deterministic_algorithms(everywhere, warn_only=True)
