"""A frozen graph computes what its network does, for its batch and smaller ones.

python -m pytest tests/models/test_frozen.py
"""

import pytest
import torch

from models.cifar_resnet import resnet20_cifar
from models.frozen import frozen

IMAGES = torch.randn(8, 3, 32, 32)


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    network = resnet20_cifar(3)
    network.train()(IMAGES)
    return network.eval()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("count", [8, 5, 1])
def test_a_frozen_network_gives_the_same_probabilities(network, dtype, count):
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    with torch.inference_mode():
        graph = frozen(network, IMAGES, dtype)
        found, expected = graph(IMAGES[:count]).softmax(1), network(IMAGES[:count]).softmax(1)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected, atol=1e-5 if dtype == torch.float32 else 0.03, rtol=0)
    assert all(torch.equal(tensor, before[name]) for name, tensor in network.state_dict().items())
