"""What pays on a device, and why; sentences for `app.devices`, decisions for `--amp auto` and `--compile auto`.

gpu_verdicts((8, 0))["bf16"]                # Verdict(pays=True, why="tensor cores take bf16 from capability 8.0 on")
"""

import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

from models.quick_dtype import FAST_BF16

AMPERE, VOLTA = (8, 0), (7, 0)  # compute capabilities: the first with TF32 and bf16, the first with tensor cores


@dataclass(frozen=True)
class Verdict:
    """Whether something pays on a device, with the reason in one clause."""

    pays: bool
    why: str


def gpu_verdicts(capability: tuple[int, int]) -> dict[str, Verdict]:
    """For an NVIDIA GPU of this compute capability: ``tf32``, ``bf16``, ``fp16`` and ``compile``."""
    has = f"this one has {capability[0]}.{capability[1]}"
    ampere, volta = capability >= AMPERE, capability >= VOLTA
    return {
        "tf32": Verdict(ampere, f"tensor cores take TF32 from capability 8.0 on, {has}"),
        "bf16": Verdict(ampere, f"tensor cores take bf16 from capability 8.0 on, {has}"),
        "fp16": Verdict(volta, f"tensor cores take fp16 from capability 7.0 on, {has}"),
        "compile": Verdict(ampere, f"seen to pay in long trainings from capability 8.0 on, {has}"),
    }


def cpu_verdicts(features: list[str], compiler: str | None, faster: bool = True) -> dict[str, Verdict]:
    """For a CPU with these of the instruction sets `FAST_BF16`, and this C++ compiler or none.

    `faster`: whether convolutions in bf16 are, where they have been measured (`models.quick_dtype`).
    """
    fast = f"the CPU has {' and '.join(features)}" if features else f"the CPU has neither of {', '.join(FAST_BF16)}"
    fast += "" if faster or not features else ", but convolves no faster in bf16"
    build = "pays in very long trainings alone" if compiler else "there is no C++ compiler (g++ or clang++)"
    return {
        "tf32": Verdict(False, "for NVIDIA GPUs alone"),
        "bf16": Verdict(bool(features) and faster, fast),
        "fp16": Verdict(False, "trains on NVIDIA GPUs alone"),
        "compile": Verdict(False, build),
    }


def cpu_name() -> str:
    """The model of the CPU, as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def cpp_compiler() -> str | None:
    """The C++ compiler that torch.compile would use on a CPU, or None."""
    return next(filter(None, map(shutil.which, ("g++", "clang++", "c++"))), None)
