"""Memory that is given back and taken again costs no page faults.

python -m pytest tests/app/test_allocator.py
"""

import subprocess
import sys

import pytest

FAULTS = """
import resource, sys
import torch
from torch import nn
from app.allocator import keep_freed_memory

if sys.argv[1] == "kept" and not keep_freed_memory():
    sys.exit(9)
torch.set_num_threads(1)
network = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU(), nn.Conv2d(16, 8, 3))
images = torch.rand(32, 3, 64, 64)
for step in range(20):
    if step == 15:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    network(images).square().mean().backward()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(way: str) -> int:
    done = subprocess.run([sys.executable, "-c", FAULTS, way], capture_output=True, text=True, check=False)
    if done.returncode == 9:
        pytest.skip("the C library is not glibc")
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_a_step_takes_its_memory_again_without_page_faults():
    kept, given_back = faults("kept"), faults("given back")
    assert kept < given_back / 5
