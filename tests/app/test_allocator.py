"""Memory that is given back and taken again costs no page faults.

python -m pytest tests/app/test_allocator.py
"""

import subprocess
import sys

import pytest

FAULTS = """
import resource, sys
import torch
from app.allocator import keep_freed_memory

if sys.argv[1] == "kept" and not keep_freed_memory():
    sys.exit(9)
for _ in range(2):
    torch.ones(16 << 20)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    torch.ones(16 << 20)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(way: str) -> int:
    done = subprocess.run([sys.executable, "-c", FAULTS, way], capture_output=True, text=True, check=False)
    if done.returncode == 9:
        pytest.skip("the C library is not glibc")
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_blocks_of_64_mb_are_taken_again_without_page_faults():
    assert faults("kept") < 1000 < faults("given back")
