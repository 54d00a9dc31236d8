"""Names of architectures: what is listed, what is found, and what a wrong name is told.

python -m pytest tests/models/test_architectures.py
"""

import os
import subprocess
import sys

import pytest
import timm
import torchvision

from models.architectures import Architecture, find, names
from models.errors import ModelError


def message_of(name):
    with pytest.raises(ModelError) as raised:
        find(name)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_importing_is_cheap():
    heavy = "{'torch', 'torchvision', 'timm', 'fastai'}"
    check = f"import sys, models.architectures; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True, env=_with_this_path())


def test_names_are_ours_then_torchvision_then_timm_each_once():
    known = names()
    assert known[:8] == [
        "resnet20_cifar",
        "resnet18_cifar",
        "resnet34_cifar",
        "resnet36_cifar",
        "resnet50_cifar",
        "airbench94_cifar",
        "airbench95_cifar",
        "airbench96_cifar",
    ]
    assert known[8] == "alexnet"
    assert len(known) == len(set(known))
    assert set(known) > set(timm.list_models())
    assert known.index("vit_b_16") < known.index("tf_efficientnet_lite0")


def test_names_leave_out_what_does_not_classify_images():
    known = set(names())
    for package in ("segmentation", "detection", "video", "quantization", "optical_flow"):
        module = getattr(torchvision.models, package)
        assert not known & set(torchvision.models.list_models(module=module))


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("resnet*_cifar", [f"resnet{n}_cifar" for n in (20, 18, 34, 36, 50)]),
        ("resnet1[89]", ["resnet18"]),
        ("net20_ci", ["resnet20_cifar"]),
        ("no such", []),
    ],
)
def test_names_by_pattern_or_substring(pattern, expected):
    assert names(pattern) == expected


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("resnet20_cifar", "cifar"),
        ("vit_b_16", "torchvision"),
        ("resnet18", "torchvision"),  # timm has it too
        ("resnet18.a1_in1k", "timm"),
        ("tf_efficientnet_lite0", "timm"),
        ("torchvision.models:mobilenet_v2", "own"),
    ],
)
def test_find_knows_the_family(name, family):
    assert find(name) == Architecture(name, family)


@pytest.mark.parametrize("name", ["resnt18", "ResNt18"])
def test_unknown_name_gets_close_ones(name):
    assert message_of(name) == (
        f"unknown architecture '{name}': did you mean resnet18, resnet18d, skresnet18? (--list-archs shows all)"
    )


@pytest.mark.parametrize("name", ["", "qqqqqq"])
def test_unknown_name_without_a_close_one(name):
    assert message_of(name) == f"unknown architecture '{name}' (--list-archs shows all)"


def test_old_timm_name_is_unknown_because_timm_has_no_statistics_for_it():
    assert message_of("vit_base_patch16_224_in21k").startswith(
        "unknown architecture 'vit_base_patch16_224_in21k': did you mean vit_"
    )


@pytest.mark.parametrize("tag", ["in22k", ""])
def test_unknown_tag_lists_the_known_ones(tag):
    assert message_of(f"tf_efficientnet_lite0.{tag}") == (
        f"architecture 'tf_efficientnet_lite0' has no weights tagged '{tag}'; its tags: in1k"
    )


def test_tag_of_an_architecture_without_weights():
    assert message_of("nf_regnet_b0.in1k") == (
        "architecture 'nf_regnet_b0' has no weights tagged 'in1k'; its tags: none"
    )


@pytest.mark.parametrize("name", ["hf-hub:timm/resnet18", "hf_hub:resnet18", "nets/mine.py:net"])
def test_address_is_not_a_name(name):
    assert message_of(name) == (
        f"architecture '{name}' is not a name: give one that --list-archs shows, "
        "or package.module:callable for your own"
    )


def _with_this_path():
    return {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
