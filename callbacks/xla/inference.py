"""A network alone on XLA, without a Learner: to predict.

forward = on_device(network)
logits = forward(batch)                     # on the CPU, as the batch
"""

import copy
from collections.abc import Callable

import torch
from torch import nn

from callbacks.xla import runtime


def on_device(network: nn.Module) -> Callable[[torch.Tensor], torch.Tensor]:
    """A function that runs a copy of `network`, in evaluation mode, on XLA: of a batch and to logits on the CPU.

    Each size of a batch is compiled once.
    """
    runtime.start()
    device = runtime.device()
    moved = copy.deepcopy(network).eval().to(device)

    def forward(batch: torch.Tensor) -> torch.Tensor:
        # Tensors of inference mode cannot be XLA's.
        with torch.inference_mode(False), torch.no_grad():
            return moved(batch.clone().to(device)).cpu()

    return forward
