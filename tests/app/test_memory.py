"""The peak of memory grows with what is held, and not with what is let go.

python -m pytest tests/app/test_memory.py
"""

import re

import numpy as np

from app.memory import peak_bytes, say_peak_memory


def test_the_peak_is_in_bytes_and_stays():
    before = peak_bytes()
    assert 2**24 < before < 2**38
    held = np.ones((before + 2**27) // 8)
    after = peak_bytes()
    assert after >= before + 2**27
    del held
    assert peak_bytes() >= after


def test_it_is_said(capsys):
    say_peak_memory()
    line = r"memory: \d+\.\d GB at most, mapped files of the cache included\n"
    assert re.fullmatch(line, capsys.readouterr().err)
