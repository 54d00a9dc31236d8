"""Between the CPU and a device that works on its own: wait for it, and copy what it has computed.

synchronize(device)
losses = to_host(recorder.losses)           # in as few transfers as the device can
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from fastcore.foundation import L

# Devices for which many tensors in one transfer are cheaper than one each: what copies them, by device type.
BATCHED: dict[str, Callable[[list[torch.Tensor]], list[torch.Tensor]]] = {}

# What waits for a device, by its type; a CPU is never behind.
WAIT: dict[str, Callable[[torch.device], None]] = {
    "cuda": torch.cuda.synchronize,
    "mps": lambda device: torch.mps.synchronize(),
}


def synchronize(device: torch.device) -> None:
    """Wait until `device` has done what was asked of it: work is queued, a clock read before lies."""
    if device.type in WAIT:
        WAIT[device.type](device)


def to_host(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Detached copies on the CPU, in the order of `tensors`; shapes and dtypes stay."""
    copies: list[torch.Tensor | None] = [None] * len(tensors)
    for kind in {tensor.device.type for tensor in tensors}:
        places = [place for place, tensor in enumerate(tensors) if tensor.device.type == kind]
        copy = BATCHED.get(kind, _one_by_one)
        for place, tensor in zip(places, copy([tensors[place].detach() for place in places])):
            copies[place] = tensor
    return copies


def nested_to_host(value: Any) -> Any:
    """Nested dicts, lists and tuples with their tensors on the CPU, in one transfer.

    What is there is not copied: neither a tensor, nor what holds none that was away.
    """
    found: list[torch.Tensor] = []
    _map_tensors(value, lambda tensor: found.append(tensor) or tensor)
    away = [tensor for tensor in found if tensor.device.type != "cpu"]
    copies = dict(zip(map(id, away), to_host(away)))
    return _map_tensors(value, lambda tensor: copies.get(id(tensor), tensor))


def _map_tensors(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        parts = {key: _map_tensors(part, change) for key, part in value.items()}
        return value if all(parts[key] is value[key] for key in parts) else parts
    if isinstance(value, (list, tuple, L)):
        parts = [_map_tensors(part, change) for part in value]
        return value if all(map(operator.is_, parts, value)) else type(value)(parts)
    return value


def _one_by_one(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    return [tensor.to("cpu", copy=True) for tensor in tensors]
