"""The report of `app.devices`, and what it says pays where.

python -m pytest tests/app/test_devices.py
"""

import json
import os
import subprocess
import sys

import pytest
import torch

from app import devices
from app.capabilities import Verdict, cpu_verdicts, gpu_verdicts
from app.tf32 import set_tf32


def test_json_has_versions_devices_and_the_choice(call):
    found = json.loads(call(devices.main, "--format", "json").out)
    assert set(found) == {"versions", "chosen", "devices"}
    assert found["versions"]["torch"].partition("+")[0] == torch.__version__.partition("+")[0]
    cpu = found["devices"][0]
    assert cpu["device"] == "cpu"
    assert cpu["threads"] == torch.get_num_threads()
    assert list(cpu["pays"]) == ["tf32", "bf16", "fp16", "compile"]
    assert found["chosen"]["device"] in {device["device"].partition(":")[0] for device in found["devices"]}


def test_table_has_a_line_each(call):
    result = call(devices.main)
    assert (result.code, result.err) == (0, "")
    assert f"\n--device auto takes {'cuda' if torch.cuda.is_available() else 'cpu'}: " in result.out
    assert sum(line.startswith("  bf16 ") for line in result.out.splitlines()) >= 1


def test_xla_is_what_it_is():
    pytest.importorskip("torch_xla")
    script = "from app import devices; devices.main([])"
    environment = os.environ | {"PJRT_DEVICE": "CPU"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "xla          XLA on CPU, no TPU found"


def test_a_gpu_in_the_table():
    pays = {"bf16": {"pays": True, "why": "because"}}
    gpu = {"device": "cuda:0", "name": "NVIDIA X", "capability": "8.0", "free_bytes": 2**30, "total_bytes": 2**32}
    found = {"versions": {"torch_xla": None}, "chosen": {"device": "cuda", "reason": "it is there"}}
    assert devices.as_table(found | {"devices": [gpu | {"pays": pays}]}).splitlines() == [
        "torch_xla    not installed",
        "",
        "--device auto takes cuda: it is there",
        "",
        "cuda:0       NVIDIA X, capability 8.0, 1.0 of 4.0 GB free",
        "  bf16       pays  because",
    ]


@pytest.mark.parametrize(
    ("capability", "paying"), [((9, 0), {"tf32", "bf16", "fp16", "compile"}), ((7, 5), {"fp16"}), ((6, 1), set())]
)
def test_what_pays_on_a_gpu(capability, paying):
    verdicts = gpu_verdicts(capability)
    assert {name for name, verdict in verdicts.items() if verdict.pays} == paying
    assert f"this one has {capability[0]}.{capability[1]}" in verdicts["bf16"].why


def test_what_pays_on_a_cpu():
    assert cpu_verdicts(["avx512_bf16", "amx_bf16"], None)["bf16"] == Verdict(
        True, "the CPU has avx512_bf16 and amx_bf16"
    )
    assert cpu_verdicts(["avx512_bf16"], None, faster=False)["bf16"] == Verdict(
        False, "the CPU has avx512_bf16, but convolves no faster in bf16"
    )
    assert cpu_verdicts([], "g++", faster=False)["bf16"] == Verdict(
        False, "the CPU has neither of avx512_bf16, amx_bf16"
    )
    assert cpu_verdicts([], None)["compile"].why == "there is no C++ compiler (g++ or clang++)"


@pytest.mark.parametrize("on", [True, False])
def test_tf32_leaves_old_and_new_names_in_step(on):
    """Where they disagree, reading the old ones raises, and inductor reads them (pytorch issue 166387)."""
    was = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    try:
        set_tf32(on)
        assert torch.backends.cuda.matmul.allow_tf32 is on
        assert torch.backends.cudnn.allow_tf32 is on
        assert torch.get_float32_matmul_precision() == ("high" if on else "highest")
        assert (torch.backends.cuda.matmul.fp32_precision == "tf32") is on
        assert torch.backends.cudnn.conv.fp32_precision == ("tf32" if on else "ieee")
    finally:
        torch.set_float32_matmul_precision("high" if was[0] else "highest")
        set_tf32(was[0])
        torch.backends.cudnn.allow_tf32 = was[1]
