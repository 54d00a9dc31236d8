"""bfloat16 is taken where it is faster, not where there are instructions for it.

python -m pytest tests/models/test_quick_dtype.py
"""

import pytest
import torch

from models import quick_dtype as module

ISA = {"_is_avx512_bf16_supported": False, "_is_amx_tile_supported": False}


@pytest.fixture
def settle(monkeypatch):
    """A function: the dtype for a CPU with these instructions, on which a bfloat16 convolution takes these seconds."""

    def settle(rounded, **instructions):
        for name, has in (ISA | instructions).items():
            monkeypatch.setattr(torch.cpu, name, lambda has=has: has)
        seconds = {torch.float32: 1.0, torch.bfloat16: rounded}
        monkeypatch.setattr(module._Convolution, "seconds", lambda self: seconds[self._layer.weight.dtype])
        return module.quick_dtype.__wrapped__()

    return settle


@pytest.mark.parametrize("name", ISA)
def test_instructions_for_bfloat16_count_only_where_they_are_faster(settle, name):
    assert settle(0.5, **{name: True}) == torch.bfloat16
    assert settle(0.9, **{name: True}) == settle(1.7, **{name: True}) == torch.float32


def test_without_instructions_nothing_is_measured(settle):
    assert settle(0.5) == torch.float32


def test_a_convolution_takes_time_in_either():
    for dtype in (torch.float32, torch.bfloat16):
        assert 0 < module._Convolution(dtype).seconds() < 60


def test_it_is_measured_once():
    assert module.quick_dtype() is module.quick_dtype()
    assert module.quick_dtype.cache_info().misses == 1
