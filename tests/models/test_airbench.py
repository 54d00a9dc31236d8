"""The airbench networks: sizes by hand, whitening by its covariance, and what their pickles name.

python -m pytest tests/models/test_airbench.py
"""

import io
import pickletools
import zipfile

import pytest
import torch
from torch import nn

from models.airbench import AIRBENCH, WHITENED, whiten

# By hand: the first layer 24 * 12 + 24; a stage from a to b channels 9ab + 9bb (twice 9bb with a shortcut) and 2b for
# each batch norm; the head b * 10.
PARAMETERS = {
    "airbench94_cifar": 312 + (13824 + 36864 + 256) + (147456 + 589824 + 1024) + 2 * 589824 + 1024 + 2560,
    "airbench95_cifar": 312 + (27648 + 147456 + 512) + (442368 + 1327104 + 1536) + 2 * 1327104 + 1536 + 3840,
    "airbench96_cifar": 312
    + (27648 + 2 * 147456 + 768)
    + (589824 + 2 * 2359296 + 3072)
    + (2359296 + 2 * 2359296 + 3072)
    + 5120,
}
every_size = pytest.mark.parametrize("name", AIRBENCH)


@every_size
def test_parameter_count_and_logits(name):
    network = AIRBENCH[name](10).eval()
    assert sum(p.numel() for p in network.parameters()) == PARAMETERS[name]
    with torch.no_grad():
        logits = network(torch.randn(2, 3, 32, 32))
    assert logits.shape == (2, 10)
    assert logits.isfinite().all()


@every_size
def test_scales_and_the_first_layer_are_not_trained(name):
    network = AIRBENCH[name](10)
    fixed = {name for name, parameter in network.named_parameters() if not parameter.requires_grad}
    norms = {f"{name}.weight" for name, module in network.named_modules() if isinstance(module, nn.BatchNorm2d)}
    assert fixed == {"whiten.weight", *norms}


def test_whitened_patches_are_uncorrelated_with_unit_variance():
    torch.manual_seed(0)
    mixed = torch.randn(3, 3)
    images = torch.einsum("ij,njhw->nihw", mixed, torch.randn(200, 3, 9, 9))
    network = AIRBENCH["airbench94_cifar"](10)
    whiten(network, images)
    assert torch.equal(network.whiten.weight[WHITENED // 2 :], -network.whiten.weight[: WHITENED // 2])
    with torch.no_grad():
        seen = nn.functional.conv2d(images, network.whiten.weight).transpose(0, 1).flatten(1)[: WHITENED // 2]
    assert torch.allclose(seen @ seen.T / seen.shape[1], torch.eye(WHITENED // 2), atol=0.02)


def test_an_initial_stage_hands_on_what_comes_in():
    stage = AIRBENCH["airbench94_cifar"](10).stage1
    images = torch.randn(2, WHITENED, 8, 8)
    with torch.no_grad():
        assert torch.allclose(stage[0](images)[:, :WHITENED], images, atol=1e-5)


@every_size
def test_the_pickle_names_torch_and_torchvision_alone(name):
    buffer = io.BytesIO()
    torch.save(AIRBENCH[name](3), buffer)
    with zipfile.ZipFile(buffer) as archive:
        pickled = archive.read(next(entry for entry in archive.namelist() if entry.endswith("data.pkl")))
    modules = {argument.split(" ")[0] for code, argument, _ in pickletools.genops(pickled) if code.name == "GLOBAL"}
    assert {module.split(".")[0] for module in modules} <= {"torch", "torchvision", "collections", "__builtin__"}
