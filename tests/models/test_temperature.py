"""A temperature within the network: every file agrees, and it can be undone.

python -m pytest tests/models/test_temperature.py
"""

import json

import pytest
import torch
from PIL import Image
from torch import nn

import models
from models.errors import ModelError
from models.temperature import Uncalibrated, fold, last_layer

IMAGES = torch.randn(2, 3, 32, 32)
PHOTOS = [Image.effect_noise((40, 50), 90).convert("RGB"), Image.effect_noise((60, 40), 30).convert("RGB")]


@pytest.mark.parametrize("arch", ["resnet20_cifar", "resnet18", "tf_efficientnet_lite0", "mobilenet_v3_small"])
def test_logits_are_divided(build, arch):
    learn, _ = build(arch)
    model = learn.model.eval()
    with torch.no_grad():
        with last_layer(model) as last:
            before = model(IMAGES)
        assert last.is_linear
        fold(model, 2.0)
        torch.testing.assert_close(model(IMAGES), before / 2)
    assert not model._forward_hooks


@pytest.mark.parametrize(
    "model",
    [
        nn.Sequential(nn.Conv2d(3, 3, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten()),
        nn.Sequential(nn.Flatten(), nn.Linear(3072, 3), nn.LogSoftmax(1)),
        nn.Sequential(nn.Flatten(), nn.Linear(3072, 3), nn.ReLU(), nn.Unflatten(1, (3, 1)), nn.Flatten()),
    ],
)
def test_another_last_layer_is_noticed(model):
    with last_layer(model) as last:
        model(IMAGES)
    assert not last.is_linear
    assert not any(module._forward_hooks for module in model.modules())


@pytest.fixture
def folder(build, tmp_path):
    """An export with temperature 2."""
    learn, spec = build("resnet20_cifar")
    models.export(learn, spec, tmp_path / "plain.pkl")
    models.export(learn, spec, tmp_path / "model.pkl", temperature=2.0)
    return tmp_path


def test_every_file_agrees_and_is_undone(folder):
    expected = models.load(folder / "plain.pkl").logits(PHOTOS)
    (folder / "alone").mkdir()
    (folder / "alone" / "model.pkl").write_bytes((folder / "model.pkl").read_bytes())
    files = ["model.pkl", "model.safetensors", "model.json", "alone/model.pkl"]
    for file in files:
        found = models.load(folder / file).logits(PHOTOS)
        torch.testing.assert_close(found, expected / 2, atol=1e-5, rtol=0)
    trusted = models.load(folder / "alone" / "model.pkl", trust=True).logits(PHOTOS)
    torch.testing.assert_close(trusted.as_subclass(torch.Tensor), expected / 2, atol=1e-5, rtol=0)
    raw = models.load(folder / "model.pkl", raw=True)
    torch.testing.assert_close(raw.logits(PHOTOS), expected, atol=1e-5, rtol=0)
    probabilities = torch.from_numpy(raw.probabilities(PHOTOS))
    torch.testing.assert_close(probabilities, expected.softmax(1), atol=1e-5, rtol=0)
    assert (raw.classes, raw.image_size) == (["ant", "bee", "wasp"], 32)


def test_it_cannot_be_undone_where_it_is_not_known(folder):
    (folder / "model.json").unlink()
    message = r"model\.pkl does not say by which temperature it is calibrated; that is in its \.json file$"
    with pytest.raises(ModelError, match=message):
        models.load(folder / "model.pkl", raw=True)


@pytest.mark.slow
def test_onnx_agrees(folder):
    pytest.importorskip("onnxscript")
    from models.onnx_export import export_onnx

    export_onnx(models.load(folder / "model.pkl"), folder / "model.onnx", PHOTOS)
    expected = models.load(folder / "plain.pkl").logits(PHOTOS)
    for raw, temperature in ((False, 2.0), (True, 1.0)):
        found = models.load(folder / "model.onnx", raw=raw).logits(PHOTOS)
        torch.testing.assert_close(torch.from_numpy(found), expected / temperature, atol=1e-5, rtol=0)


@pytest.mark.parametrize("temperature", [0, -1, "2", None, float("inf")])
def test_a_temperature_that_is_none_is_refused(folder, temperature):
    facts = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps(facts | {"temperature": temperature}))
    with pytest.raises(ModelError, match=r"model\.json is damaged \(values out of range\)"):
        models.load(folder / "model.json")


def test_training_starts_without_it(build, folder):
    start = models.load(folder / "model.pkl")
    learn, _ = build("resnet20_cifar", start=start)
    expected = models.load(folder / "plain.pkl").network(IMAGES)
    torch.testing.assert_close(learn.model.eval()(IMAGES), expected)


def test_what_is_not_its_own_is_the_predictors(folder):
    with pytest.raises(AttributeError, match="learn"):
        _ = Uncalibrated(models.load(folder / "model.pkl")).learn
