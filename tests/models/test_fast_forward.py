"""The quickest way to run a network: the same classes, for batches of any size, and never worse than as it is.

python -m pytest tests/models/test_fast_forward.py
"""

import pytest
import torch
from PIL import Image
from torch import nn

import models
from models import fast_forward, predictor
from models.cifar_resnet import resnet20_cifar

IMAGES = torch.randn(8, 3, 32, 32)


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    network = resnet20_cifar(3)
    network.train()(IMAGES)
    return network.eval()


class Unstable(nn.Module):
    """Never the same twice, so that no other way agrees with it."""

    def forward(self, images):
        return torch.randn(len(images), 3) * 10


class Untraceable(nn.Module):
    def forward(self, images):
        if torch.jit.is_tracing():
            raise RuntimeError("not this way")
        return images.mean((2, 3))


@pytest.mark.parametrize("kind", [Unstable, Untraceable])
def test_a_network_that_cannot_be_frozen_runs_as_it_is(kind):
    network = kind()
    with torch.inference_mode():
        assert fast_forward.fastest(network, IMAGES) is network


@pytest.mark.parametrize(("dtype", "atol"), [(torch.float32, 1e-5), (torch.bfloat16, 0.03)])
def test_it_is_in_the_dtype_that_is_quicker_here(network, monkeypatch, dtype, atol):
    monkeypatch.setattr(fast_forward, "GAIN", 1000.0)  # whatever is measured
    monkeypatch.setattr(fast_forward, "quick_dtype", lambda: dtype)
    with torch.inference_mode():
        quick, expected = fast_forward.fastest(network, IMAGES), network(IMAGES)
        assert quick is not network
        torch.testing.assert_close(quick(IMAGES).softmax(1), expected.softmax(1), atol=atol, rtol=0)


def test_a_slower_way_is_not_taken(network, monkeypatch):
    monkeypatch.setattr(fast_forward, "GAIN", 0.0)
    with torch.inference_mode():
        assert fast_forward.fastest(network, IMAGES) is network


def test_many_images_are_predicted_with_it(build, tmp_path, monkeypatch):
    torch.manual_seed(0)
    learn, spec = build("resnet20_cifar")
    learn.model.train()(IMAGES)
    models.export(learn, spec, tmp_path / "model.pkl")
    photos = [Image.effect_noise((40, 50), 20 * index).convert("RGB") for index in range(1, 9)]
    few, many = models.load(tmp_path / "model.pkl"), models.load(tmp_path / "model.pkl")
    assert few.expect(8) == many.expect(predictor.MANY) == predictor.BATCH
    monkeypatch.setattr(fast_forward, "GAIN", 1000.0)  # whatever is measured
    expected = few.probabilities(photos)
    torch.testing.assert_close(many.probabilities(photos), expected, atol=0.03, rtol=0)
    assert few._forward is few.network
    assert many._forward is not many.network


def test_a_batch_is_smaller_where_images_are_large():
    assert predictor.batch_that_fits((2**14, 2**14)) < predictor.BATCH
