"""bf16 on XLA is bf16, and as accurate as float32.

python -m pytest tests/callbacks/xla/test_precision.py
"""

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found(on_xla):
    return on_xla("precision")


def test_convolutions_are_bf16_and_weights_are_not(found):
    assert found["float32"]["convolutions"] == ["f32"]
    assert found["bf16"]["convolutions"] == ["bf16"]
    assert found["bf16"]["weights"] == ["torch.float32"]


def test_the_accuracy_is_float32s(found):
    assert 0.7 < found["float32"]["accuracy"] < 1  # learned, and not too easy to tell
    assert found["bf16"]["accuracy"] == pytest.approx(found["float32"]["accuracy"], abs=0.02)
