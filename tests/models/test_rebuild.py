"""A network made again from its description: every architecture has the same weights under the same names.

python -m pytest tests/models/test_rebuild.py
"""

import json

import pytest
import torch
import torchvision

from models.rebuild import describe, rebuild

ALL = torchvision.models.list_models(module=torchvision.models)
TIMM = ["convnext_atto", "resnet18.a1_in1k", "swin_tiny_patch4_window7_224", "mobilenetv3_small_050"]
SMALL = ["resnet20_cifar", "resnet50_cifar", "squeezenet1_1", "mobilenet_v3_small"]
CALCULATED = [*SMALL, *TIMM]


def check(build, arch, **options):
    device = "cpu" if arch in CALCULATED else "meta"  # shapes alone: the largest networks take seconds to fill
    with torch.device(device):
        learn, spec = build(arch, side=300, **options)
        description = json.loads(json.dumps(describe(learn.model, spec.arch)))
        weights = learn.model.state_dict()
        again = rebuild(description, len(spec.classes), weights)
    assert list(again.state_dict()) == list(weights)
    assert not again.training
    assert not any(type(module).__module__.startswith("fastai") for module in again.modules())
    if device == "cpu":
        images = torch.randn(2, 3, spec.image_size, spec.image_size)
        with torch.no_grad():
            torch.testing.assert_close(again(images), learn.model.eval()(images), atol=1e-6, rtol=0)


@pytest.mark.parametrize("arch", SMALL)
def test_ours_and_some_of_torchvision(build, arch):
    check(build, arch)


@pytest.mark.slow
@pytest.mark.parametrize("arch", [name for name in ALL if not name.startswith("regnet")])
def test_every_torchvision_name(build, arch):
    check(build, arch)


@pytest.mark.slow
@pytest.mark.parametrize("arch", TIMM)
def test_names_of_timm(build, arch):
    check(build, arch)


def test_another_size_of_a_transformer(build):
    check(build, "vit_b_16", image_size=32)
