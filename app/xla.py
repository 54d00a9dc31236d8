"""``--device xla``: TPUs, or the CPU through the same compiler, with what the hardware really is.

device, reason = start_xla(devices=None, cache=None)
learn.add_cbs(training_callbacks(settings))
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from app.errors import UsageError

REPORT = "xla_metrics.txt"


def start_xla(devices: int | None = None, cache: str | None = None) -> tuple[Any, str]:
    """Start XLA on so many devices, None for all; return the ``torch.device`` and a sentence that says what it is.

    Raises
    ------
    UsageError
        torch_xla is missing, there are not so many devices, or several processes were started.
    """
    import torch

    from callbacks.xla import XLAError, hardware, start

    try:
        keeps = hardware.kind() == "TPU"
        count = start(devices, Path(cache) if cache and keeps else None)
        sentence = f"as asked; {hardware.describe(count)}"
    except XLAError as error:
        raise UsageError(f"--device xla: {error}") from error
    if cache and not keeps:
        sentence += "; --xla-cache is for TPUs, nothing is kept"
    return torch.device("xla"), sentence


def loader_device(device: Any) -> Any:
    """Where the loaders put their batches: on the CPU for XLA, whose callback uploads them in the background."""
    import torch

    return torch.device("cpu") if device.type == "xla" else device


def training_device(learn: Any, settings: dict[str, Any]) -> Any:
    """The ``torch.device`` that trains; XLA takes over only while fastai fits."""
    import torch

    return torch.device("xla") if settings["device"] == "xla" else learn.dls.device


def devices_in_use(settings: dict[str, Any]) -> int | None:
    """How many XLA devices train; None where none does, with a warning about flags that then mean nothing."""
    if settings["device"] != "xla":
        from app import report

        for flag in ("xla_devices", "xla_metrics", "xla_cache"):
            if settings[flag]:
                report.warn(f"--{flag.replace('_', '-')} has no meaning without --device xla: ignored")
        return None
    from callbacks.xla import start

    return start()


def training_callbacks(settings: dict[str, Any]) -> list[Any]:
    """What is added to a Learner that is to train on XLA; nothing for another device."""
    if settings["device"] != "xla":
        return []
    from app import report
    from callbacks.xla import XLA, XLAMetrics

    return [XLA(every=settings["log_every"]), XLAMetrics(report.warn)]


def write_metrics(folder: Path) -> Path:
    """Write torch_xla's report of the process so far."""
    from app.outputs import written
    from callbacks.xla import counters

    path = folder / REPORT
    with written(path) as partial:
        partial.write_text(counters.report(), encoding="utf-8")
    return path


@contextmanager
def predicting(predictor: Any) -> Iterator[None]:
    """Run the network of a loaded predictor on XLA, for all predictions while inside.

    Raises
    ------
    UsageError
        It has no network of torch.
    """
    if hasattr(predictor, "learn"):
        from callbacks.xla import XLA

        moved = XLA()
        predictor.learn.add_cb(moved)
        try:
            with moved.held():
                yield
        finally:
            predictor.learn.remove_cb(moved)
        return
    if not hasattr(predictor, "network"):
        raise UsageError("--device xla: an ONNX file runs on the CPU, give the model it was made of")
    from callbacks.xla.inference import on_device

    predictor.run_by(on_device(predictor.network))
    yield
