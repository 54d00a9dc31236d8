"""What was measured on this machine, kept in the user's cache folder for the next run.

remember("resnet18 224px", {"float32": 0.11})
recall("resnet18 224px")                    # None where nothing, or nothing readable, is kept
"""

import json
import os
from pathlib import Path
from typing import Any

import torch

from app.capabilities import cpu_name
from app.outputs import written
from models.quick_dtype import cpu_features


def cache_file() -> Path:
    """``$XDG_CACHE_HOME/fastsight/speed.json``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "fastsight", "speed.json")


def machine(device: torch.device) -> str:
    """What a measurement depends on, besides the model: the chip, the threads, and torch.

    Virtual machines call CPUs with and without bf16 by one name.
    """
    chip = torch.cuda.get_device_name(device) if device.type == "cuda" else " ".join([cpu_name(), *cpu_features()])
    return f"{chip}, {torch.get_num_threads()} threads, torch {torch.__version__}"


def recall(key: str) -> Any:
    """What was kept under `key`, or None."""
    return _read().get(key)


def remember(key: str, value: Any) -> None:
    """Keep `value` (JSON) under `key`; a cache folder that cannot be written is no error."""
    file = cache_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with written(file) as partial:
            partial.write_text(json.dumps(_read() | {key: value}, indent=1) + "\n", encoding="utf-8")
    except OSError:
        return


def _read() -> dict[str, Any]:
    try:
        kept = json.loads(cache_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}
