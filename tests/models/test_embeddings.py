"""Features noted in passing: python -m pytest tests/models/test_embeddings.py"""

import pytest
import torch
from torch import nn

from models.embeddings import SIDE, noted


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)).eval()


def test_those_that_were_wanted_of_several_batches():
    model, images = network(), torch.rand(10, 3, 96, 96)
    wanted = torch.tensor([0, 1, 0, 0, 0, 0, 1, 0, 0, 1]).bool()  # none of the second batch of three
    with torch.no_grad(), noted(model, wanted) as found:
        for batch in images.split(3):
            model(batch)
        expected = model[:3](images[wanted])
    assert torch.allclose(found.features, expected, atol=1e-6)
    assert torch.allclose(found.images, nn.functional.avg_pool2d(images[wanted], 96 // SIDE), atol=1e-6)


def test_nothing_is_left_behind():
    model = network()
    with pytest.raises(RuntimeError), noted(model, torch.ones(2).bool()):
        model(torch.rand(2, 5, 96, 96))
    assert not any(module._forward_pre_hooks for module in model.modules())


class PerPixel(nn.Module):
    """The last linear layer is given one row for every pixel."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)

    def forward(self, images):
        return self.linear(images.movedim(1, -1)).mean((1, 2))


@pytest.mark.parametrize("model", [PerPixel(), nn.Sequential(nn.Conv2d(3, 2, 9), nn.Flatten())])
def test_networks_without_one_row_of_features_for_each_image(model):
    with torch.no_grad(), noted(model, torch.ones(4).bool()) as found:
        model(torch.rand(4, 3, 9, 9))
    assert found.features is None
    assert found.images.shape == (4, 3, SIDE, SIDE)
