"""The XLA runtime of this process: started once, with the devices it is to use.

start()                                     # all devices of the machine, or start(devices=1)
sync()                                      # cut the graph here, and run it
"""

import importlib.util
import logging
import os
from pathlib import Path

import torch

from callbacks.host import BATCHED, WAIT
from callbacks.xla.errors import XLAError

INSTALL = 'pip install -e ".[xla]", on Linux x86_64 with Python 3.13 or earlier'
# libtpu's layout of so many chips of one host, as Cloud TPU's documentation gives it.
CHIP_BOUNDS = {1: "1,1,1", 2: "1,2,1", 4: "2,2,1"}

_started: int | None = None  # devices in use


def installed() -> bool:
    """Whether torch_xla can be imported; it is not imported."""
    return importlib.util.find_spec("torch_xla") is not None


def check() -> None:
    """Raise an XLAError where torch_xla is missing or broken, or the process is one of torchrun's."""
    if not installed():
        raise XLAError(f"torch_xla is not installed: {INSTALL}")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # errors: XLA warns of its own plans at every graph
    logging.disable(logging.WARNING)  # torch_xla's, on which device it has taken: `hardware` says it
    try:
        import torch_xla  # noqa: F401
    except Exception as error:  # an extension for another torch fails in many ways
        raise XLAError(
            f"torch_xla cannot be imported ({' '.join(str(error).split())[:160]}): "
            f"it has to be of torch's version, which is {torch.__version__}; {INSTALL}"
        ) from error
    finally:
        logging.disable(logging.NOTSET)
    if int(os.environ.get("WORLD_SIZE") or 1) > 1:
        raise XLAError("torchrun would train as many copies as it has processes: one process uses all XLA devices")


def start(devices: int | None = None, cache: Path | None = None) -> int:
    """Start the runtime, if it is not running; return the number of devices in use.

    More than one are used by SPMD: to the program they are one device, on which tensors lie whole or in parts.

    Parameters
    ----------
    devices
        How many to use; None for all.
    cache
        Folder where compiled graphs are kept for later processes; only TPUs have that.

    Raises
    ------
    XLAError
        There are not so many, or the process uses another number already.
    """
    global _started
    check()
    import torch_xla
    from torch_xla import runtime

    if _started is None:
        BATCHED["xla"] = torch_xla._XLAC._xla_get_cpu_tensors
        WAIT["xla"] = _wait
        if devices is not None:
            _show_only(devices)
        found = runtime.global_runtime_device_count()
        if devices is not None and not (devices == 1 or devices == found):
            raise XLAError(f"{devices} XLA devices asked for, {found} found{_how_to_have_more()}")
        if cache is not None:
            runtime.initialize_cache(str(cache))
        count = devices or found
        if count > 1:
            _use_spmd(runtime, count)
        if runtime.process_count() > 1:
            raise XLAError("several hosts are not supported: run on one, with all of its devices")
        _try_backward()
        _started = count
    if devices not in (None, _started):
        raise XLAError(f"{devices} XLA devices asked for, this process uses {_started} already: start a new one")
    return _started


def device() -> torch.device:
    """The XLA device, which stands for all that are in use."""
    import torch_xla

    return torch_xla.device()


def sync() -> None:
    """Compile what was asked of the device since the last call, unless it is known, and run it; no waiting."""
    import torch_xla

    torch_xla.sync()


def seed(number: int) -> None:
    """Seed the device's generator, which dropout draws from; ``torch.manual_seed`` does not."""
    import torch_xla

    torch_xla.manual_seed(number)


def _wait(_: torch.device) -> None:
    from torch_xla.core import xla_model

    xla_model.wait_device_ops()


def _try_backward() -> None:
    """Autograd makes its threads at the first backward pass, for the devices there are then."""
    try:
        torch.ones(1, device=device(), requires_grad=True).sum().backward()  # never cut, so never compiled
    except RuntimeError as error:
        raise XLAError(
            "torch has run a backward pass before XLA was started, and cannot run one on XLA any more: "
            "start anew, with callbacks.xla.start() before the first training"
        ) from error


def _use_spmd(runtime: object, count: int) -> None:
    import torch_xla

    # Called later it only warns, and sharding the first odd batch ended in a segmentation fault (torch_xla 2.9).
    if torch_xla._XLAC._xla_get_spmd_config_is_locked() and not runtime.is_spmd():
        raise XLAError(
            f"{count} XLA devices cannot be used, there are XLA tensors already: "
            "call callbacks.xla.start() before the first, or use one device"
        )
    runtime.use_spmd()


def _show_only(devices: int) -> None:
    """Hide the other devices from a runtime that has not started yet."""
    from torch_xla import runtime
    from torch_xla._internal import tpu

    if runtime.device_type() == "CPU" and int(os.environ.get("CPU_NUM_DEVICES") or 1) > devices:
        os.environ["CPU_NUM_DEVICES"] = str(devices)
    elif runtime.device_type() == "TPU" and tpu.num_available_devices() > devices > 1:
        chips, rest = divmod(devices, tpu.num_logical_cores_per_chip())
        if rest == 0 and chips in CHIP_BOUNDS:
            os.environ["TPU_VISIBLE_CHIPS"] = ",".join(map(str, range(chips)))
            os.environ["TPU_CHIPS_PER_PROCESS_BOUNDS"] = CHIP_BOUNDS[chips]
            os.environ["TPU_PROCESS_BOUNDS"] = "1,1,1"


def _how_to_have_more() -> str:
    from torch_xla import runtime

    on_cpu = runtime.device_type() == "CPU"
    return "; the variable CPU_NUM_DEVICES makes several of a CPU" if on_cpu else ""
