"""Features computed once, and the head that is written from them, for every kind of network that has one.

python -m pytest tests/models/test_features.py
"""

import pytest
import torch
from torch import nn

from models.errors import ModelError
from models.features import QuickBody, features, ready
from models.linear_head import LinearHead
from models.probe import Probe

# fastai's cut and head; timm's own pool; a replaced classifier (torchvision, and timm's channels last)
KINDS = [
    "tf_efficientnet_lite0",
    "resnet18",
    "vit_tiny_patch16_224",
    "mobilenet_v3_small",
    "swin_tiny_patch4_window7_224",
]


@pytest.fixture
def model(build):
    learn, _ = build("tf_efficientnet_lite0", side=300, image_size=64, pretrained=True, probe=True)
    return learn.model


def batches(count=6, side=64):
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(count, 3, side, side, generator=generator)
    return [(images[start : start + 2], torch.arange(start, start + 2) % 3) for start in range(0, count, 2)]


def take(model, found, dtype=None):
    with ready(model, dtype):
        x, y = features(model, found)
    return x.clone(), y.clone()


@pytest.mark.parametrize("arch", KINDS)
def test_the_network_is_the_probe_once_it_is_written(build, arch):
    learn, spec = build(arch, side=300, probe=True)
    model, images = learn.model, batches(side=spec.image_size)
    x, y = take(model, images)
    count = LinearHead.of(model).linear.in_features
    generator = torch.Generator().manual_seed(0)
    weight, bias = (torch.randn(shape, generator=generator) for shape in ((3, count), (3,)))
    probe = Probe(x.mean(0), x.var(0) + 1e-3, weight, bias, 1.0)
    probe.write(model)
    model.eval()
    with torch.no_grad():
        logits = torch.cat([model(image) for image, _ in images])
    assert torch.allclose(logits, probe(x), rtol=1e-3, atol=1e-3 * logits.abs().max().item())
    assert y.tolist() == [0, 1, 2, 0, 1, 2]


def test_bf16_features_are_float32_and_close(model):
    whole, _ = take(model, batches())
    half, _ = take(model, batches(), torch.bfloat16)
    assert half.dtype == torch.float32
    assert not torch.equal(half, whole)
    assert torch.nn.functional.cosine_similarity(half, whole).min() > 0.99


@pytest.mark.parametrize(("dtype", "casts"), [(torch.bfloat16, torch.bfloat16), (torch.float32, None)])
def test_a_frozen_body_sees_the_same(model, dtype, casts):
    whole, _ = take(model, batches())
    quick = QuickBody(dtype)
    with ready(model, casts):
        first, y = (found.clone() for found in features(model, batches(), quick))
        again, _ = features(model, batches(), quick)
    assert quick.of(model, None) is not model  # there was a graph
    assert (first.dtype, y.tolist()) == (torch.float32, [0, 1, 2, 0, 1, 2])
    assert torch.equal(first, again)
    assert torch.nn.functional.cosine_similarity(first, whole).min() > 0.99


class Untraceable(nn.Module):
    def forward(self, images):
        if torch.jit.is_tracing():
            raise RuntimeError("not this way")
        return images.mean((2, 3))


def test_a_body_that_cannot_be_frozen_runs_as_it_is():
    model, quick = nn.Sequential(Untraceable(), nn.Linear(3, 3)), QuickBody(torch.bfloat16)
    with ready(model):
        found, _ = features(model, batches(), quick)
        expected, _ = features(model, batches())
    assert torch.equal(found, expected)
    assert isinstance(model[1], nn.Linear)


def test_the_model_is_as_before_also_after_an_exception(model):
    model.train()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    trained = [parameter.requires_grad for parameter in model.parameters()]

    def broken():
        yield from batches()
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        take(model, broken(), torch.bfloat16)
    assert model.training
    assert [parameter.requires_grad for parameter in model.parameters()] == trained
    assert all(parameter.is_contiguous() for parameter in model.parameters())
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert not LinearHead.of(model).entry._forward_pre_hooks
    assert torch.is_grad_enabled()
    assert not torch.is_autocast_enabled("cpu")


def test_features_that_are_no_numbers_are_refused(model):
    next(model.parameters()).data.fill_(float("nan"))
    with pytest.raises(ModelError, match=r"^the features of some image are infinite or not a number$"):
        take(model, batches())


def test_a_last_layer_that_sees_more_than_a_row_an_image_is_refused():
    model = nn.Sequential(nn.Conv2d(3, 3, 1), nn.Linear(64, 3))
    with pytest.raises(ModelError, match=r"^the last layer is given \(2, 3, 64, 64\) for 2 images$"):
        take(model, batches())


def test_without_a_probe_the_head_is_fastais(build):
    learn, _ = build("tf_efficientnet_lite0", side=300, pretrained=True)
    assert len([module for module in learn.model[1].modules() if isinstance(module, nn.Linear)]) == 2


def test_the_head_of_a_probe_is_trained_and_the_body_frozen(build):
    learn, spec = build("tf_efficientnet_lite0", side=300, pretrained=True, probe=True, train_bn=False)
    head = learn.model[1]
    assert [type(layer).__name__ for layer in head][-3:] == ["BatchNorm1d", "Dropout", "Linear"] or len(head) == 4
    assert spec.probe
    assert all(parameter.requires_grad for parameter in head.parameters())
    assert not any(parameter.requires_grad for parameter in learn.model[0].parameters())
    held = {id(parameter) for group in learn.opt.param_lists for parameter in group}
    assert held == {id(parameter) for parameter in learn.model.parameters()}
