"""What a network sees just before its last layer, for every image, computed once.

with ready(learn.model, torch.bfloat16):
    x, y = features(learn.model, loader)    # (N, F), (N,)
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext

import torch
from torch import nn

from models.errors import ModelError
from models.linear_head import LinearHead


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


def features(
    model: nn.Module, batches: Iterable[tuple[torch.Tensor, torch.Tensor]]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Run `model` on `batches`, within `ready`, and keep what its `LinearHead` is given.

    Parameters
    ----------
    batches
        Images, float32 (n, 3, height, width), normalised, on the device of `model`; and labels, int64 (n,).

    Returns
    -------
    tuple
        Features, float32 (N, F), and labels, int64 (N,), in the order of the batches, on the device.

    Raises
    ------
    ModelError
        The last layer is not given one row of numbers per image; or one of them is infinite or not a number.
    """
    seen: list[torch.Tensor] = []
    head = LinearHead.of(model)
    hook = head.entry.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0].float()))
    labels = []
    try:
        for images, targets in batches:
            model(images.as_subclass(torch.Tensor).contiguous(memory_format=torch.channels_last))
            labels.append(targets.as_subclass(torch.Tensor))
            if seen[-1].shape != (len(images), head.linear.in_features):
                raise ModelError(f"the last layer is given {tuple(seen[-1].shape)} for {len(images)} images")
    finally:
        hook.remove()
    x = torch.cat(seen)
    if not x.isfinite().all():
        raise ModelError("the features of some image are infinite or not a number")
    return x, torch.cat(labels)
