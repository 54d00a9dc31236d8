"""Training on from an earlier model: what is taken over, and what is refused.

python -m pytest tests/models/test_start.py
"""

import pytest
import torch

import models
from models.errors import ModelError
from models.start import settled_by


@pytest.fixture
def source(build, tmp_path):
    """`source(arch, classes)`: an earlier model, loaded."""

    def source(arch, classes=("ant", "bee", "wasp"), **options):
        learn, spec = build(arch, classes=classes, stats=((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)), **options)
        models.export(learn, spec, tmp_path / "earlier.pkl")
        return models.load(tmp_path / "earlier.pkl")

    return source


@pytest.mark.parametrize("arch", ["resnet20_cifar", "resnet18", "tf_efficientnet_lite0"])
def test_the_same_classes_give_the_same_network(build, source, arch):
    start = source(arch)
    learn, _ = build(arch, start=start)
    images = torch.randn(2, 3, 32, 32)
    with torch.no_grad():
        found, expected = learn.model.eval()(images), start.network(images)
    # Not to the last bit: where weights may be trained, some processors add in another order.
    assert torch.allclose(found, expected, atol=1e-5)
    weights = learn.model.state_dict()
    assert all(torch.equal(weights[name], value) for name, value in start.network.state_dict().items())


def test_classes_are_taken_over_by_name(build, source):
    start = source("resnet20_cifar", ("wasp", "ant"))
    learn, _ = build("resnet20_cifar", start=start, classes=("ant", "bee", "wasp"))
    images = torch.randn(2, 3, 32, 32)
    ours, theirs = learn.model.eval()(images), start.network(images)
    torch.testing.assert_close(ours[:, [2, 0]], theirs)
    assert not torch.isclose(ours[:, 1:2], theirs, atol=1e-4).any()


def test_another_network_is_refused(build, source):
    start = source("resnet20_cifar")
    with pytest.raises(ModelError) as raised:
        build("resnet18_cifar", start=start)
    assert str(raised.value) == (
        "the weights to start from are of another network: no conv1.weight of this size (107 of 122 do not fit); "
        "give --arch and --img-size as they were"
    )


def test_no_weights_are_fetched_and_the_body_is_frozen(build, source, monkeypatch):
    start = source("resnet18")
    monkeypatch.setattr(torch.hub, "load_state_dict_from_url", None)
    learn, _ = build("resnet18", start=start, pretrained=True)
    assert not next(learn.model[0].parameters()).requires_grad
    assert torch.equal(learn.model[0][0].weight, start.network[0][0].weight)


def test_the_normalisation_is_the_earlier_one(build, source):
    _, spec = build("resnet20_cifar")
    settled = settled_by(spec, source("resnet20_cifar"))
    assert (settled.mean, settled.std) == ((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    assert settled_by(spec, None) is spec
