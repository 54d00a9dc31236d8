"""Networks that people train: nothing compiles from the second epoch of a stage on, however images are augmented.

python -m pytest tests/callbacks/xla/test_architectures.py
"""

import pytest

pytestmark = pytest.mark.slow

TRANSFERS = 2  # of an epoch: the losses; the metrics with the loss of validation


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
    assert len(rows) == 4  # one of the first stage, three of the second
    assert rows[0]["xla/compiles"] > 0
    assert [row["xla/compiles"] for row in rows[2:]] == [0, 0]
    assert all(row["xla/transfers_from_device"] == TRANSFERS for row in rows)
    assert found[way]["late"] == []
    assert found[way]["unchanged"] == 0
