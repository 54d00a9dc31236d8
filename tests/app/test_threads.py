"""How threads wait for one another, as OpenMP itself says it.

python -m pytest tests/app/test_threads.py
"""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("given", "spins"),
    [
        ({}, "1000"),
        ({"GOMP_SPINCOUNT": "5"}, "5"),
        ({"OMP_WAIT_POLICY": "PASSIVE"}, "0"),
    ],
)
def test_a_waiting_thread_sleeps_soon_unless_the_user_has_said_otherwise(given, spins):
    environment = {key: value for key, value in os.environ.items() if key not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    environment |= {"OMP_DISPLAY_ENV": "VERBOSE", "OMP_NUM_THREADS": "1"} | given
    done = subprocess.run(
        [sys.executable, "-m", "app.devices"], capture_output=True, text=True, check=True, env=environment
    )
    if "GOMP_SPINCOUNT" not in done.stderr:
        pytest.skip("torch's OpenMP is not GCC's")
    assert f"GOMP_SPINCOUNT = '{spins}'" in done.stderr
