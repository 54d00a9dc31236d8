"""One forward pass before training, so that what would end the first epoch is said in one line.

check_network(learn.model, spec)            # raises ModelError, or nothing
"""

import pickle

import torch
from torch import nn

from models.errors import ModelError, reason_of
from models.inputs import stats_and_size
from models.spec import Spec

IMAGES = 2  # a batch axis that is lost, or taken for another one, shows


def check_network(network: nn.Module, spec: Spec) -> None:
    """See that `network` takes images of the size of `spec` and gives one logit per class.

    The pass is in evaluation mode, so batch statistics and the random state stay as they are; a network
    of the user's own also has one in training mode, of a copy and with the random state put back.

    Raises
    ------
    ModelError
        The network has nothing to train, cannot take this size, or gives something else.
    """
    parameter = next(network.parameters(), None)
    if parameter is None:
        raise ModelError(f"{spec.arch.name} has no parameters: there is nothing to train")
    if not any(parameter.requires_grad for parameter in network.parameters()):
        raise ModelError(f"{spec.arch.name} has no parameter that requires a gradient: there is nothing to train")
    training = network.training
    network.eval()
    try:
        _check_pass(network, spec, "")
    finally:
        network.train(training)
    if spec.arch.family == "own":
        copy = pickle.loads(pickle.dumps(network)).train()  # where deepcopy fails, on weight_norm say, this works
        gpus = [parameter.device] if parameter.device.type == "cuda" else []
        with torch.random.fork_rng(gpus):
            _check_pass(copy, spec, " in training")


def _check_pass(network: nn.Module, spec: Spec, mode: str) -> None:
    name, size, classes = spec.arch.name, spec.image_size, len(spec.classes)
    device = next(network.parameters()).device
    try:
        with torch.no_grad():
            logits = network(torch.zeros(IMAGES, 3, size, size, device=device))
    except (Exception, SystemExit) as error:  # any layer may refuse, in its own way
        reason = reason_of(error)
        raise ModelError(f"{name} cannot take images of {size} px{mode} ({reason}): {_way_out(spec)}") from error
    shape = tuple(logits.shape) if isinstance(logits, torch.Tensor) else type(logits).__name__
    if shape != (IMAGES, classes):
        expected = f"expected logits of shape ({IMAGES}, {classes})"
        raise ModelError(f"{name} gives {shape} for {IMAGES} images{mode}, {expected}")


def _way_out(spec: Spec) -> str:
    own = stats_and_size(spec.arch)[2]
    return "give another --arch" if own == spec.image_size else f"give --img-size {own}, or another --arch"
