"""Names of architectures: what is listed, what is found, and what a wrong name is told.

python -m pytest tests/models/test_architectures.py
"""

import colorsys
import os
import subprocess
import sys
from enum import Enum
from types import SimpleNamespace

import pytest
import timm
import torchvision

from models.architectures import Architecture, find, load_own, names, stats_and_size
from models.errors import ModelError

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225), 224)
HALF = (0.5, 0.5, 0.5)


@pytest.fixture
def workdir(tmp_path, monkeypatch):
    """An empty working directory that is not on sys.path; what is imported from it is forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(sys.modules[name].__spec__):
            del sys.modules[name]


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
    assert known[:5] == [
        "resnet20_cifar",
        "resnet18_cifar",
        "resnet34_cifar",
        "resnet36_cifar",
        "resnet50_cifar",
    ]
    assert known[5] == "alexnet"
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


@pytest.mark.parametrize("name", ["mine:", ":net", "mine.:net", "my-net:net", "a:b:c"])
def test_own_of_another_form(name):
    assert message_of(name) == f"architecture '{name}' is not of the form package.module:callable"


def test_own_is_found_in_the_working_directory(workdir):
    (workdir / "nets").mkdir()
    (workdir / "nets" / "small.py").write_text("def build(n):\n    return ['net', n]\n")
    assert find("nets.small:build") == Architecture("nets.small:build", "own")
    assert load_own("nets.small:build")(10) == ["net", 10]
    assert sys.path[-1] == os.getcwd()
    assert sys.path.count(os.getcwd()) == 1


def test_own_may_import_its_neighbour_when_called(workdir):
    (workdir / "neighbour.py").write_text("def size(n):\n    return n + 1\n")
    (workdir / "late.py").write_text("def build(n):\n    import neighbour\n    return neighbour.size(n)\n")
    assert load_own("late:build")(10) == 11


def test_own_file_does_not_hide_an_installed_module(workdir, monkeypatch):
    (workdir / "colorsys.py").write_text("raise RuntimeError('the wrong one')\n")
    monkeypatch.delitem(sys.modules, "colorsys")
    build = load_own("colorsys:rgb_to_hsv")
    assert build.__code__.co_filename == colorsys.__file__


@pytest.mark.parametrize("missing", ["nosuch", "nosuch.deeper", "json.nosuch"])
def test_own_module_not_found(workdir, missing):
    absent = "json.nosuch" if missing == "json.nosuch" else "nosuch"
    assert message_of(f"{missing}:net") == (
        f"architecture '{missing}:net': no module '{absent}' here or among the installed packages"
    )


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("raise ValueError('bad\\n  width')", "ValueError: bad width"),
        ("import nosuch", "ModuleNotFoundError: No module named 'nosuch'"),
        ("import sys; sys.exit('usage')", "SystemExit: usage"),
        ("def", "SyntaxError: invalid syntax (broken.py, line 1)"),
    ],
)
def test_own_module_that_raises(workdir, code, problem):
    (workdir / "broken.py").write_text(code)
    assert message_of("broken:net") == (f"architecture 'broken:net': importing 'broken' raised {problem}")


def test_own_attribute_missing(workdir):
    (workdir / "mine.py").write_text("def resnet(n):\n    return n\n")
    assert message_of("mine:resnt") == ("architecture 'mine:resnt': module 'mine' has no 'resnt': did you mean resnet?")
    assert message_of("mine:zzz") == "architecture 'mine:zzz': module 'mine' has no 'zzz'"


def test_own_attribute_not_callable(workdir):
    (workdir / "mine.py").write_text("net = 3\n")
    assert message_of("mine:net") == (
        "architecture 'mine:net': 'net' is of type int and cannot be called with the number of classes"
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("resnet20_cifar", ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616), 32)),
        ("resnet18", IMAGENET),
        ("inception_v3", (*IMAGENET[:2], 299)),
        ("efficientnet_v2_l", (HALF, HALF, 480)),
        ("tf_efficientnet_lite0", (HALF, HALF, 224)),
        ("resnet18.a1_in1k", IMAGENET),
        ("vit_base_patch16_sapiens2", (*IMAGENET[:2], 1024)),  # 1024 high, 768 wide
        ("torchvision.models:mobilenet_v2", IMAGENET),
    ],
)
def test_stats_and_size(name, expected):
    assert stats_and_size(find(name)) == expected


def test_every_listed_architecture_has_statistics_and_a_size():
    torchvision_names = set(torchvision.models.list_models(module=torchvision.models))
    for name in names()[5:]:
        family = "torchvision" if name in torchvision_names else "timm"
        mean, std, size = stats_and_size(Architecture(name, family))
        assert len(mean) == len(std) == 3, name
        assert size >= 32, name


def test_torchvision_without_weights_gets_imagenet(monkeypatch):
    monkeypatch.setattr(torchvision.models, "get_model_weights", lambda name: Enum("Weights", []))
    assert stats_and_size(find("efficientnet_v2_l")) == IMAGENET


@pytest.mark.parametrize("config", [None, SimpleNamespace(mean=None, std=(), input_size=None)])
def test_timm_without_a_configuration_gets_imagenet(monkeypatch, config):
    monkeypatch.setattr(timm, "get_pretrained_cfg", lambda name: config)
    assert stats_and_size(Architecture("tf_efficientnet_lite0", "timm")) == IMAGENET


def _with_this_path():
    return {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
