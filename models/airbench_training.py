"""How the networks of `models.airbench` are trained: each group of parameters at its own rate.

    learn = Learner(..., splitter=groups, opt_func=optimizer, wd_bn_bias=True)
    learn.fit(epochs, lr=rates(learn.model, 0.24, batch=2000), wd=penalties(learn.model, 0.24, 4e-3))

The numbers are those of airbench94_muon.py (github.com/KellerJordan/cifar10-airbench), which sums the loss over 2000
images and divides the logits by the width of the head. Here the loss is a mean, and the head has the division in its
weights: the rates are larger by the images of a batch, and the head's smaller by its width's square.
"""

from functools import partial

from torch import nn

from models.muon import muon

BATCH = 2000
# Of sums over a batch, with 0.24 for filters.
FILTERS, BIASES, HEAD = 0.24, 0.053, 0.67
MOMENTA = (0.85, 0.85, 0.6, 0.85)  # of `groups`
WHITENED_EPOCHS = 3  # in which the first layer's biases are trained
# In 7 of 12 epochs images have three quarters of their sides: 24 px of 32. Not airbench's.
RESIZING = ((7 / 12, 3 / 4),)

optimizer = partial(muon, mom=MOMENTA)


def groups(network: nn.Module) -> list[list[nn.Parameter]]:
    """The first layer's biases, the batch norms', the filters and the head: what is trained, in that order."""
    first = network.whiten.bias
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad and parameter is not first]
    biases, head, filters = ([p for p in trained if p.ndim == dimensions] for dimensions in (1, 2, 4))
    return [[first], biases, filters, head]


def rates(network: nn.Module, peak: float, batch: int = BATCH) -> list[float]:
    """Peak learning rates of `groups`, from that of the filters, for steps of `batch` images.

    All but the filters', whose steps have one size, grow with the batch (Goyal et al. 2017, arXiv 1706.02677).
    """
    scale = batch * peak / FILTERS
    biases, head = BIASES * scale, HEAD * scale / network.fc.in_features**2
    return [biases, biases, peak, head]


def penalties(network: nn.Module, peak: float, decay: float) -> list[float]:
    """L2 penalties of `groups`, with which all but the filters lose `decay` of their size in a step at the peak."""
    return [0.0 if group == 2 else decay / rate for group, rate in enumerate(rates(network, peak))]


def ends(epochs: int) -> list[float]:
    """After which part of a training each of `groups` has come to rest."""
    return [min(1.0, WHITENED_EPOCHS / epochs), 1.0, 1.0, 1.0]
