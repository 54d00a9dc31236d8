"""A network as a graph for batches of one size: traced and frozen, which folds batch norms into convolutions.

forward = frozen(network, batch, torch.bfloat16)    # batch: float32 (N, 3, height, width)
found = forward(images)                             # float32, of N images or fewer
"""

import warnings
from collections.abc import Callable
from copy import deepcopy

import torch
from torch import Tensor, nn

Forward = Callable[[Tensor], Tensor]


def frozen(network: nn.Module, batch: Tensor, dtype: torch.dtype) -> Forward:
    """Trace a copy of `network`, in evaluation, in `dtype` and channels-last order; its first two runs are slower.

    What a network raises that cannot be traced or converted is of any kind.
    """

    def converted(images: Tensor) -> Tensor:
        return images.to(dtype, memory_format=torch.channels_last)

    copy = deepcopy(network).eval().to(dtype=dtype, memory_format=torch.channels_last)
    with warnings.catch_warnings(), torch.inference_mode(False), torch.no_grad(), torch.autocast("cpu", enabled=False):
        warnings.simplefilter("ignore")  # of sizes that become constants: all batches have the same
        graph = torch.jit.freeze(torch.jit.trace(copy, converted(batch.clone()), check_trace=False))

    def forward(images: Tensor) -> Tensor:
        missing = len(batch) - len(images)  # the graph knows one size
        whole = torch.cat([images, images.new_zeros(missing, *images.shape[1:])]) if missing else images
        with torch.autocast("cpu", enabled=False):
            return graph(converted(whole))[: len(images)].float()

    return forward
