"""What XLA really runs on, as torch_xla's runtime tells it: without a TPU it falls back to the CPU with a warning.

describe()                                  # "XLA on CPU, no TPU found, 2 devices"
"""

from callbacks.xla import runtime


def kind() -> str:
    """``TPU``, ``CPU``, or another of the runtime's names; the runtime is not started."""
    runtime.check()
    from torch_xla import runtime as xla

    return xla.device_type() or "CPU"


def describe(devices: int | None = None) -> str:
    """The hardware in one clause.

    Parameters
    ----------
    devices
        How many are in use; None leaves the number out, and does not start the runtime.
    """
    name = kind()
    sentence = "XLA on CPU, no TPU found" if name == "CPU" else f"XLA on {_tpu() if name == 'TPU' else name}"
    if devices is None:
        return sentence
    return f"{sentence}, {devices} device{'' if devices == 1 else 's'}"


def chips() -> int:
    """TPU chips that are attached to this machine."""
    runtime.check()
    from torch_xla._internal import tpu

    return tpu.num_available_chips()


def _tpu() -> str:
    from torch_xla._internal import tpu

    try:
        return f"TPU {tpu.get_tpu_env()['ACCELERATOR_TYPE']}"  # such as v4-8: the generation, and its cores
    except Exception:  # asked of the metadata server, which a container may not reach
        return "TPU"
