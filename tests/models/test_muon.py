"""Muon against singular value decompositions, and Nesterov's SGD against torch's own.

python -m pytest tests/models/test_muon.py
"""

import pytest
import torch
from torch import nn

from models.airbench import AIRBENCH
from models.airbench_training import BATCH, FILTERS, ends, groups, optimizer, penalties, rates
from models.muon import muon, orthogonalised


@pytest.mark.parametrize("shape", [(8, 40), (40, 8), (16, 64)])
def test_singular_values_become_about_one_and_directions_stay(shape):
    torch.manual_seed(0)
    matrix = torch.randn(shape) * 1e-3
    u, _, v = torch.linalg.svd(matrix, full_matrices=False)
    result = orthogonalised(matrix)
    assert (result.shape, result.dtype) == (shape, torch.float32)
    turned = u.T @ result @ v.T
    assert 0.5 < turned.diagonal().min() <= turned.diagonal().max() < 1.3
    assert (turned - turned.diagonal().diag()).abs().max() < 0.05


def test_a_filter_keeps_its_norm_and_moves_by_the_rate():
    torch.manual_seed(0)
    layer = nn.Conv2d(3, 8, 3, bias=False)
    layer.weight.grad = torch.randn_like(layer.weight)
    expected = layer.weight.detach() * 8**0.5 / layer.weight.detach().norm()
    grad = layer.weight.grad * 1.6  # Nesterov's first step: the gradient, and 0.6 of the momentum, which equals it
    expected -= 0.1 * orthogonalised(grad.flatten(1)).view_as(grad)
    muon([layer.weight], lr=0.1, mom=0.6).step()
    assert torch.allclose(layer.weight, expected, atol=1e-6)


def test_other_parameters_are_those_of_torchs_sgd():
    torch.manual_seed(0)
    ours, theirs = (nn.Parameter(torch.ones(5, 4)) for _ in range(2))
    mine = muon([ours], lr=0.05, mom=0.85, wd=0.01)
    reference = torch.optim.SGD([theirs], lr=0.05, momentum=0.85, weight_decay=0.01, nesterov=True)
    for _ in range(4):
        grad = torch.randn(5, 4)
        ours.grad, theirs.grad = grad.clone(), grad.clone()
        mine.step()
        reference.step()
    assert torch.allclose(ours, theirs, atol=1e-6)


def test_groups_are_all_that_is_trained_each_once():
    network = AIRBENCH["airbench94_cifar"](10)
    found = groups(network)
    assert [len(group) for group in found] == [1, 6, 6, 1]
    assert {id(p) for group in found for p in group} == {id(p) for p in network.parameters() if p.requires_grad}
    assert [hyper["mom"] for hyper in optimizer(found, lr=0.1).hypers] == [0.85, 0.85, 0.6, 0.85]


def test_rates_are_those_of_the_summed_loss_with_logits_divided_by_the_width():
    network = AIRBENCH["airbench94_cifar"](10)
    biases, norms, filters, head = rates(network, FILTERS)
    assert (biases, norms, filters) == (0.053 * 2000, 0.053 * 2000, 0.24)
    assert head == pytest.approx(0.67 * 2000 / 256**2)
    assert rates(network, FILTERS / 2, BATCH // 2) == pytest.approx([biases / 4, norms / 4, filters / 2, head / 4])
    decays = [rate * penalty for rate, penalty in zip(rates(network, FILTERS), penalties(network, FILTERS, 4e-3))]
    assert decays == pytest.approx([4e-3, 4e-3, 0, 4e-3])
    assert ends(10) == [0.3, 1, 1, 1]
    assert ends(2) == [1, 1, 1, 1]
