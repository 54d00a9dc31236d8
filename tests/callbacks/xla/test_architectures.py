"""Networks that people train: nothing compiles from the second epoch of a stage on, however images are augmented.

python -m pytest tests/callbacks/xla/test_architectures.py
"""

import pytest

pytestmark = pytest.mark.slow

METRICS = 2


@pytest.fixture(
    scope="module",
    params=[("resnet18", 64), ("tf_efficientnet_lite0", 64), ("resnet18_cifar", 32)],
    ids=lambda param: param[0],
)
def found(on_xla, request):
    name, side = request.param
    return on_xla("architectures", name, str(side))


@pytest.mark.parametrize("way", ["host", "device"])
def test_compilations_and_transfers(found, way):
    rows = found[way]["rows"]
    assert len(rows) == 4
    firsts = [index for index, row in enumerate(rows) if not index or row["phase"] != rows[index - 1]["phase"]]
    for index, row in enumerate(rows):
        assert (row["xla/compiles"] > 0) == (index in firsts)
        assert row["xla/transfers_from_device"] <= 3 + METRICS
    assert found[way]["late"] == []
    assert found[way]["unchanged"] == 0
