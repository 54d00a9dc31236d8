"""What this machine has to train on, and what pays there.

python -m app.devices
python -m app.devices --format json
"""

import json
import os
import sys
from typing import Any

from app.errors import run
from app.parser import Parser
from data.counting import counted

PACKAGES = ("python", "torch", "torchvision", "fastai", "torch_xla")
ABILITIES = ("tf32", "bf16", "fp16", "compile")


def build_parser() -> Parser:
    """The flags of ``app.devices``."""
    parser = Parser(
        prog="python -m app.devices",
        description="Report the devices of this machine, and whether TF32, bf16, fp16 and compiling pay there.",
        epilog="example: python -m app.devices --format json",
    )
    parser.add_argument("--format", choices=("table", "json"), default="table", help="form of the report")
    return parser


def main(argv: list[str]) -> int:
    """Print the report on standard output."""
    args = build_parser().parse_args(argv)
    found = survey()
    print(json.dumps(found, indent=2) if args.format == "json" else as_table(found))
    return 0


def survey() -> dict[str, Any]:
    """Versions, the device that ``--device auto`` takes with its reason, and all devices there are."""
    import torch

    from app.capabilities import cpp_compiler, cpu_name, cpu_verdicts, gpu_verdicts
    from app.device import choose_device
    from app.run_folder import versions
    from models.quick_dtype import cpu_features, quick_dtype

    known = versions()
    device, reason = choose_device("auto")
    cpu = {
        "device": "cpu",
        "name": cpu_name(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "pays": _plain(cpu_verdicts(cpu_features(), cpp_compiler(), quick_dtype() == torch.bfloat16)),
    }
    devices = [cpu]
    for index in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        properties = torch.cuda.get_device_properties(index)
        free, total = torch.cuda.mem_get_info(index)
        devices.append(
            {
                "device": f"cuda:{index}",
                "name": properties.name,
                "capability": f"{properties.major}.{properties.minor}",
                "free_bytes": free,
                "total_bytes": total,
                "pays": _plain(gpu_verdicts((properties.major, properties.minor))),
            }
        )
    if torch.backends.mps.is_available():
        devices.append({"device": "mps", "name": "Apple GPU", "pays": {}})
    devices += _xla()
    return {
        "versions": {name: known.get(name) for name in PACKAGES},
        "chosen": {"device": str(device), "reason": reason},
        "devices": devices,
    }


def as_table(found: dict[str, Any]) -> str:
    """The report for people: a line per version, device and ability."""
    lines = [f"{name:<12} {version or 'not installed'}" for name, version in found["versions"].items()]
    lines += ["", f"--device auto takes {found['chosen']['device']}: {found['chosen']['reason']}"]
    for device in found["devices"]:
        facts = [device["name"]]
        if "cores" in device:
            facts.append(f"{counted(device['cores'], 'core')}, {counted(device['threads'], 'thread')}")
        if "capability" in device:
            memory = f"{device['free_bytes'] / 2**30:.1f} of {device['total_bytes'] / 2**30:.1f} GB free"
            facts += [f"capability {device['capability']}", memory]
        lines += ["", f"{device['device']:<12} {', '.join(facts)}"]
        for ability, verdict in device["pays"].items():
            lines.append(f"  {ability:<10} {'pays' if verdict['pays'] else 'no':<5} {verdict['why']}")
    return "\n".join(lines)


def _xla() -> list[dict[str, Any]]:
    """What ``--device xla`` would take, where torch_xla is installed; the runtime is not started."""
    from callbacks.xla import XLAError, hardware, runtime

    if not runtime.installed():
        return []
    try:
        name = hardware.describe()
    except XLAError as error:
        name = str(error)
    return [{"device": "xla", "name": name, "pays": {}}]


def _plain(verdicts: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: {"pays": verdicts[name].pays, "why": verdicts[name].why} for name in ABILITIES}


if __name__ == "__main__":
    sys.exit(run(main))
