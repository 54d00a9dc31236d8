"""Choose the device to train on, with the reason; never one that is not there.

device, reason = choose_device("auto")      # (device(type='cpu'), "no GPU was found; ...")
"""

import os
import platform
from typing import Any

from app.errors import UsageError
from data.counting import counted


def choose_device(name: str, xla_devices: int | None = None, xla_cache: str | None = None) -> tuple[Any, str]:
    """Return a ``torch.device`` and a sentence that says why.

    Parameters
    ----------
    name
        ``auto`` (a CUDA GPU, else Apple's, else the CPU), ``cpu``, ``cuda``, ``cuda:N``, ``mps`` or ``xla``.
    xla_devices, xla_cache
        For ``xla``: how many devices, None for all; and where to keep their graphs.

    Raises
    ------
    UsageError
        The device named is not there.
    """
    import torch

    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda"), _cuda_sentence(torch.device("cuda"))
        if torch.backends.mps.is_available():
            return torch.device("mps"), "Apple GPU"
        return torch.device("cpu"), f"no GPU was found; {_cpu_sentence()}"
    if name == "cpu":
        return torch.device("cpu"), f"as asked; {_cpu_sentence()}"
    if name == "mps" and torch.backends.mps.is_available():
        return torch.device("mps"), "as asked; Apple GPU"
    if name.partition(":")[0] == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        try:
            device = torch.device(name)
        except RuntimeError:  # no number, or one that torch cannot hold
            raise UsageError(f"--device {name}: expected cuda or cuda:N, N from 0 to 127") from None
        if (device.index or 0) < count:
            return device, f"as asked; {_cuda_sentence(device)}"
        raise UsageError(f"--device {name}: {counted(count, 'CUDA device')} found; use --device auto or cpu")
    if name == "xla":
        from app.xla import start_xla

        return start_xla(xla_devices, xla_cache)
    raise UsageError(f"--device {name}: not found on this machine; use --device auto or cpu")


def _cuda_sentence(device: Any) -> str:
    import torch

    properties = torch.cuda.get_device_properties(device)
    memory = properties.total_memory / 2**30
    return f"{properties.name}, capability {properties.major}.{properties.minor}, {memory:.0f} GB"


def _cpu_sentence() -> str:
    import torch

    return (
        f"{platform.machine()}, {counted(torch.get_num_threads(), 'thread')} of {counted(os.cpu_count() or 1, 'core')}"
    )
