"""The quickest way found here to run a network over many batches of one shape, on a CPU.

forward = fastest(network, batch)           # batch: float32 (N, 3, height, width)
logits = forward(batch)                     # float32 (N, classes)

The other way than the network as it is: traced and frozen, which folds batch norms into convolutions, in channels-last
order, in bfloat16 where the CPU is faster in it. Images whose class bfloat16 leaves open go through the network as it
is. It is taken where it is faster on the batch that is given, and names the same classes there.
"""

import time

import torch
from torch import Tensor, nn

from models.frozen import Forward, frozen
from models.quick_dtype import quick_dtype

WARM_UP = 2  # runs before a frozen graph has its final form
GAIN = 0.9  # of the time; less of a gain is not worth another rounding
SURE = 0.25  # of probability: where two classes are closer, rounding may decide between them
# Of the most different probability of an image, on average. Rounding stays below; in more, something is wrong.
LARGEST_DIFFERENCE = {torch.float32: 1e-4, torch.bfloat16: 0.03}


def fastest(network: nn.Module, batch: Tensor) -> Forward:
    """Time both ways on `batch` and return the quicker; `network` stays as it is."""
    plain_seconds, expected = _timed(network, batch)
    dtype = quick_dtype()
    try:
        graph = frozen(network, batch, dtype)
        quick = graph if dtype == torch.float32 else _decided(network, graph)
        for _ in range(WARM_UP):
            quick(batch)
        seconds, found = _timed(quick, batch)
    except Exception:  # networks that cannot be traced or converted fail in many ways, and run as they are
        return network
    faster = seconds < GAIN * plain_seconds
    return quick if faster and _agree(expected, found, LARGEST_DIFFERENCE[dtype]) else network


def _decided(network: nn.Module, graph: Forward) -> Forward:
    """`graph`, but images whose class it leaves open go through `network`."""

    def forward(images: Tensor) -> Tensor:
        logits = graph(images)
        unsure = _lead(logits.softmax(1)) < SURE
        if unsure.any():
            logits[unsure] = network(images[unsure])
        return logits

    return forward


def _timed(forward: Forward, batch: Tensor) -> tuple[float, Tensor]:
    started = time.perf_counter()
    logits = forward(batch)
    return time.perf_counter() - started, logits


def _agree(expected: Tensor, found: Tensor, largest: float) -> bool:
    """Whether both name the same class wherever the first is sure, with similar probabilities."""
    expected, found = expected.softmax(1), found.softmax(1)
    same = (expected.argmax(1) == found.argmax(1)) | (_lead(expected) < 2 * SURE)
    return bool(same.all()) and (expected - found).abs().amax(1).mean().item() <= largest


def _lead(probabilities: Tensor) -> Tensor:
    """By how much the likeliest class leads the next, (N,); 0 where there is one class only."""
    best = probabilities.topk(min(2, probabilities.shape[1]), 1).values
    return best[:, 0] - best[:, -1]
