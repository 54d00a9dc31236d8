"""Settle ``--compile auto``: compile when the run is expected to save more than the compilation costs.

choice, reason = choose_compile("auto", learn.model, work, way, seconds_per_step)
"""

import torch
from torch import nn

from app.capabilities import cpp_compiler, gpu_verdicts
from app.errors import UsageError
from app.precision import signature
from app.speed_cache import machine, recall, remember
from app.trial import Way, Work, milliseconds
from callbacks.compile import CompileForward
from data.counting import counted

# Before a machine has compiled anything: the share of a step that is saved, and the seconds that a layer costs in
# training and validation. On a CPU, eager channels last in bf16 was as
# fast as compiled (resnet18 at 64 px on two cores: 1.79 and 1.72 times eager float32).
EXPECTED_GAIN = {"cpu": 0.0, "cuda": 0.15}
EXPECTED_LAYER_SECONDS = {"cpu": 2.0, "cuda": 0.5}


def choose_compile(asked: str, model: nn.Module, work: Work, way: Way, step: float | None) -> tuple[str, str]:
    """Return ``on`` or ``off``, and the reason with its estimate.

    Parameters
    ----------
    asked
        ``auto``, ``on`` or ``off``.
    step
        Seconds of an eager step, None where it was not measured.

    Raises
    ------
    UsageError
        ``on`` where it cannot work.
    """
    check_compile(asked, work.device)
    kind, hindrance = work.device.type, obstacle(work.device)
    if asked != "auto":
        return asked, "as asked"
    if hindrance:
        return "off", hindrance
    if step is None:
        return "off", "the training is too short"
    known = recall(_gain_key(model, work, way))
    gain = EXPECTED_GAIN[kind] if known is None else known
    per_layer = recall(_cost_key(work)) or EXPECTED_LAYER_SECONDS[kind]
    cost, saving = per_layer * layers(model) * work.phases, gain * step * work.steps
    source = "from what is usual" if known is None else "as compiled here before"
    estimate = (
        f"{counted(work.steps, 'step')} of {milliseconds(step)} ms, {100 * gain:.0f}% less compiled ({source}), "
        f"would save {saving:.0f} s and cost {cost:.0f} s of compiling"
    )
    return ("on" if saving > cost else "off"), estimate


def check_compile(asked: str, device: torch.device) -> None:
    """Raise a UsageError where ``--compile on`` asks for what `device` cannot do."""
    hindrance = obstacle(device) if asked == "on" else None
    if hindrance:
        raise UsageError(f"--compile on: {hindrance}; use --compile off")


def learn_from(
    compiled: CompileForward, taken: float | None, model: nn.Module, work: Work, way: Way, step: float | None
) -> str:
    """Keep for the next run what compiling cost and saved; return it as a sentence.

    Parameters
    ----------
    taken, step
        Seconds of a compiled step, and of an eager one; None where unknown.
    """
    graphs = counted(compiled.graphs, "graph")
    sentence = f"compiled {graphs} in {compiled.seconds:.0f} s"
    if compiled.breaks:
        sentence += f", with {compiled.breaks} breaks"
    if compiled.graphs:
        remember(_cost_key(work), compiled.seconds / (layers(model) * work.phases))
    if taken is None:
        return sentence
    sentence += f"; a step took {milliseconds(taken)} ms"
    if step is None:
        return sentence
    gain = 1 - taken / step
    remember(_gain_key(model, work, way), gain)
    saved = gain * step * work.steps - compiled.seconds
    return f"{sentence}, {milliseconds(step)} ms eagerly: {abs(saved):.0f} s {'saved' if saved > 0 else 'lost'} in all"


def layers(model: nn.Module) -> int:
    """Modules that hold no other: what compile time grows with."""
    return sum(1 for module in model.modules() if not list(module.children()))


def obstacle(device: torch.device) -> str | None:
    """Why nothing can be compiled on `device`, or None."""
    if device.type == "cuda":
        verdict = gpu_verdicts(torch.cuda.get_device_capability(device))["compile"]
        return None if verdict.pays else verdict.why
    if device.type == "cpu":
        return None if cpp_compiler() else "there is no C++ compiler (g++ or clang++)"
    if device.type == "xla":
        return "XLA compiles everything itself"
    return f"compiling is not supported on {device.type}"


def _gain_key(model: nn.Module, work: Work, way: Way) -> str:
    return f"compile gain: {way}, {signature(model, work)}"


def _cost_key(work: Work) -> str:
    return f"compile seconds a layer: {machine(work.device)}"
