"""What a network sees just before its last layer, for every image, computed once.

with ready(learn.model, torch.bfloat16):
    x, y = features(learn.model, loader)    # (N, F), (N,)
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress

import torch
from torch import Tensor, nn

from models.errors import ModelError
from models.frozen import Forward, frozen
from models.linear_head import LinearHead

LARGEST_DIFFERENCE = (
    0.15  # of the features' length, by rounding to bfloat16: 0.07 was seen; in more, something is wrong
)


@contextmanager
def ready(model: nn.Module, dtype: torch.dtype | None = None) -> Iterator[None]:
    """Put `model` in the state in which it is quickest to run once: evaluation, no gradients, channels last.

    Parameters
    ----------
    dtype
        Of autocast, such as ``torch.bfloat16``; None computes in float32.

    Memory format, training mode and gradients are as before when it ends, whatever happens.
    """
    device, training = next(model.parameters()).device, model.training
    casts = nullcontext() if dtype is None else torch.autocast(device.type, dtype=dtype)
    model.eval().to(memory_format=torch.channels_last)
    try:
        with torch.inference_mode(), casts:
            yield
    finally:
        model.train(training).to(memory_format=torch.contiguous_format)


class QuickBody:
    """A network without its head, in the quickest form for a CPU: a frozen graph in `dtype`, made of the first batch.

    Where that cannot be made, or computes something else, it is the network itself.
    """

    def __init__(self, dtype: torch.dtype) -> None:
        self._dtype = dtype
        self._forward: Forward | None = None

    def of(self, body: nn.Module, images: Tensor) -> Forward:
        """The function to call in the place of `body`, which is in evaluation; `images` are the first batch."""
        if self._forward is None:
            self._forward = body
            with suppress(Exception):  # networks that cannot be traced or converted fail in many ways
                graph, expected = frozen(body, images, self._dtype), body(images).float()
                if (graph(images) - expected).norm() <= LARGEST_DIFFERENCE * expected.norm():
                    self._forward = graph
        return self._forward


def features(
    model: nn.Module, batches: Iterable[tuple[Tensor, Tensor]], quick: QuickBody | None = None
) -> tuple[Tensor, Tensor]:
    """Run `model` on `batches`, within `ready`, and keep what its `LinearHead` is given.

    Parameters
    ----------
    batches
        Images, float32 (n, 3, height, width), normalised, on the device of `model`; and labels, int64 (n,).
    quick
        On a CPU, worth its second or two where there are hundreds of images; to be used again for the same model.

    Returns
    -------
    tuple
        Features, float32 (N, F), and labels, int64 (N,), in the order of the batches, on the device.

    Raises
    ------
    ModelError
        The last layer is not given one row of numbers per image; or one of them is infinite or not a number.
    """
    seen, labels = [], []
    width = LinearHead.of(model).linear.in_features
    with _without_head(model):
        for images, targets in batches:
            images = images.as_subclass(Tensor).contiguous(memory_format=torch.channels_last)
            forward = model if quick is None else quick.of(model, images)
            seen.append(forward(images).float())
            labels.append(targets.as_subclass(Tensor))
            if seen[-1].shape != (len(images), width):
                raise ModelError(f"the last layer is given {tuple(seen[-1].shape)} for {len(images)} images")
    x = torch.cat(seen)
    if not x.isfinite().all():
        raise ModelError("the features of some image are infinite or not a number")
    return x, torch.cat(labels)


@contextmanager
def _without_head(model: nn.Module) -> Iterator[None]:
    """Let `model` return what its `LinearHead` is given (in evaluation: dropout is nothing)."""
    head = LinearHead.of(model)
    names = {name: module for name, module in model.named_modules() if module in (head.norm, head.linear)}
    try:
        for name in names:
            model.set_submodule(name, nn.Identity())
        yield
    finally:
        for name, module in names.items():
            model.set_submodule(name, module)
