"""The layers of heads: fastai's, made again without fastai.

python -m pytest tests/models/test_layers.py
"""

import json

import pytest
import torch
from torch import nn

from models import layers
from models.errors import ModelError


def heads():
    from fastai.vision.learner import create_head

    yield create_head(16, 3)
    yield create_head(16, 3, lin_ftrs=[], ps=0.25)  # one linear layer
    yield create_head(16, 3, lin_ftrs=[], concat_pool=False, ps=0)
    yield create_head(16, 3, lin_ftrs=[8, 8], first_bn=False, bn_final=True)
    yield nn.Sequential(nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 3, bias=True))


@pytest.mark.parametrize("index", range(5))
def test_a_head_made_again_has_the_same_names_and_results(index):
    head = list(heads())[index].eval()
    again = layers.build(json.loads(json.dumps(layers.describe(head)))).eval()
    assert not any(type(module).__module__.startswith("fastai") for module in again.modules())
    again.load_state_dict(head.state_dict())
    features = torch.randn(4, 16, 5, 5)
    assert torch.equal(again(features), head(features))
    train, again = head.train(), again.train()
    torch.manual_seed(0)
    expected = train(features)
    torch.manual_seed(0)
    assert torch.equal(again(features), expected)  # dropout and batch norm have the same settings


def test_a_layer_that_has_no_description():
    with pytest.raises(ModelError, match=r"^a head with the layer Conv2d has no description$"):
        layers.describe(nn.Sequential(nn.Conv2d(3, 3, 1)))


@pytest.mark.parametrize("description", [{}, {"layer": "Conv2d"}, {"layer": "Linear", "in_features": 3}])
def test_a_damaged_description(description):
    with pytest.raises(ModelError, match="unknown layer"):
        layers.build(description)
