"""Settle ``--amp auto`` and ``--memory-format auto``: by the GPU's capability, on a CPU by measuring the model.

way, reason = choose_way(learn, work, "auto", "auto")
"""

import torch
from fastai.learner import Learner
from torch import nn

from app.capabilities import Verdict, cpu_verdicts, gpu_verdicts
from app.errors import UsageError
from app.speed_cache import machine, recall, remember
from app.trial import Way, Work, milliseconds, step_seconds, step_turns
from callbacks.autocast import PrecisionError, check_supported
from models.quick_dtype import cpu_features

SHORT = 60.0  # seconds of training: below, what could be saved is not worth measuring
GAIN = 0.05  # the share of time a less exact way has to save
SWAY = 0.15  # the share of time by which a turn may speak against what all together say is fastest
SAFEST_FIRST = [Way(amp, layout) for amp in ("off", "bf16") for layout in ("contiguous", "channels_last")]


def choose_way(learn: Learner, work: Work, amp: str, memory_format: str) -> tuple[Way, str]:
    """Return how to train, and the reason.

    Parameters
    ----------
    amp
        ``auto``, ``off``, ``bf16`` or ``fp16``.
    memory_format
        ``auto``, ``contiguous`` or ``channels_last``.

    Raises
    ------
    UsageError
        The precision asked for cannot be trained with on the device.
    """
    check_asked(amp, work.device)
    if work.device.type == "xla" and memory_format == "channels_last":
        raise UsageError("--memory-format channels_last: XLA lays out tensors itself; use auto or contiguous")
    if "auto" not in (amp, memory_format):
        return Way(amp, memory_format), "as asked"
    if work.device.type == "cuda":
        return _on_cuda(torch.cuda.get_device_capability(work.device), amp, memory_format)
    if work.device.type == "cpu":
        return _on_cpu(learn, work, amp, memory_format)
    if work.device.type == "xla":
        return _on_xla(amp, memory_format)
    return Way(_or(amp, "off"), _or(memory_format, "contiguous")), f"nothing else is tried on {work.device.type}"


def inference_dtype(device: torch.device) -> tuple[torch.dtype | None, str]:
    """Return bf16 where the device computes in it, else None for float32, and the reason.

    Not a matter of ``--amp``: on a CPU the forward pass gains from bf16 also where the backward pass of depthwise
    convolutions does not.
    """
    verdicts = {}
    if device.type == "cuda":
        verdicts = gpu_verdicts(torch.cuda.get_device_capability(device))
    elif device.type == "cpu":
        verdicts = cpu_verdicts(cpu_features(), None)
    verdict = verdicts.get("bf16", Verdict(False, f"nothing else is tried on {device.type}"))
    return (torch.bfloat16 if verdict.pays else None), verdict.why


def check_asked(amp: str, device: torch.device) -> None:
    """Raise a UsageError where ``--amp`` names what `device` cannot do."""
    if amp in ("auto", "off"):
        return
    try:
        check_supported(amp, device)
    except PrecisionError as error:
        raise UsageError(f"--amp {amp}: {error}") from error
    if amp == "bf16" and device.type == "cuda":
        verdict = gpu_verdicts(torch.cuda.get_device_capability(device))["bf16"]
        if not verdict.pays:
            raise UsageError(f"--amp bf16: {verdict.why}; use fp16 or off")


def _on_cuda(capability: tuple[int, int], amp: str, memory_format: str) -> tuple[Way, str]:
    verdicts = gpu_verdicts(capability)
    best = next((name for name in ("bf16", "fp16") if verdicts[name].pays), "off")
    amp = _or(amp, best)
    why = verdicts["fp16" if amp == "off" else amp].why
    # Tensor cores read half precision in this layout: contiguous images are transposed at every convolution.
    return Way(amp, _or(memory_format, "contiguous" if amp == "off" else "channels_last")), why


def _on_xla(amp: str, memory_format: str) -> tuple[Way, str]:
    from callbacks.xla import hardware

    pays = hardware.kind() == "TPU"
    why = "the units of a TPU multiply bf16" if pays else "bf16 pays on TPUs alone"
    return Way(_or(amp, "bf16" if pays else "off"), _or(memory_format, "contiguous")), why


def _on_cpu(learn: Learner, work: Work, amp: str, memory_format: str) -> tuple[Way, str]:
    bf16 = cpu_verdicts(cpu_features(), None)["bf16"]
    ways = [way for way in SAFEST_FIRST if amp in ("auto", way.amp) and memory_format in ("auto", way.memory_format)]
    if amp == "auto" and not bf16.pays:
        ways = [way for way in ways if way.amp == "off"]
    key = f"way: {signature(learn.model, work)}"
    measured = {Way(*name.split()): seconds for name, seconds in (recall(key) or {}).items()}
    turns: list[dict[Way, float]] = []
    if any(way not in measured for way in ways):
        first = step_seconds(learn, work, ways[:1])[ways[0]]
        if first * work.images < SHORT:
            return ways[0], f"about {first * work.images:.0f} s of training are too few to measure others"
        turns = step_turns(learn, work, ways)
        measured |= {way: min(turn[way] for turn in turns) for way in ways}
    chosen = _fastest(ways, measured)
    unsteady = any(turn[chosen] > (1 + SWAY) * min(turn.values()) for turn in turns)
    if turns and not unsteady:
        remember(key, {f"{way.amp} {way.memory_format}": seconds for way, seconds in measured.items()})
    numbers = ", ".join(f"{way} {milliseconds(measured[way])}" for way in ways)
    numbers += "; another was faster at times, so this is measured again by the next run" if unsteady else ""
    without = "" if bf16.pays or amp != "auto" else f"; no bf16: {bf16.why}"
    return chosen, f"measured, ms per image: {numbers}{without}"


def _fastest(ways: list[Way], seconds: dict[Way, float]) -> Way:
    """The first of `ways`, which begin with the safest, to which none is faster by more than `GAIN`."""
    enough = min(seconds[way] for way in ways) * (1 + GAIN)
    return next(way for way in ways if seconds[way] <= enough)


def signature(model: nn.Module, work: Work) -> str:
    """What a time depends on: model, size, batch, frozen body, and machine."""
    parameters = sum(parameter.numel() for parameter in model.parameters())
    state = "frozen" if work.frozen else "whole"
    return f"{work.arch} ({parameters}, {state}) {work.size}px batch {work.batch_size} on {machine(work.device)}"


def _or(asked: str, otherwise: str) -> str:
    return otherwise if asked == "auto" else asked
