"""One forward pass before training, so that what would end the first epoch is said in one line.

check_network(learn.model, spec)            # raises ModelError, or nothing
"""

import torch
from torch import nn

from models.errors import ModelError
from models.inputs import stats_and_size
from models.spec import Spec

IMAGES = 2  # a batch axis that is lost, or taken for another one, shows


def check_network(network: nn.Module, spec: Spec) -> None:
    """See that `network` takes images of the size of `spec` and gives one logit per class.

    The pass is in evaluation mode, so batch statistics and the random state stay as they are.

    Raises
    ------
    ModelError
        The network has no parameters, cannot take this size, or gives something else.
    """
    name, size, classes = spec.arch.name, spec.image_size, len(spec.classes)
    parameter = next(network.parameters(), None)
    if parameter is None:
        raise ModelError(f"{name} has no parameters: there is nothing to train")
    training = network.training
    network.eval()
    try:
        with torch.no_grad():
            logits = network(torch.zeros(IMAGES, 3, size, size, device=parameter.device))
    except Exception as error:  # any layer may refuse, in its own way
        reason = " ".join(str(error).split())[:120]
        raise ModelError(f"{name} cannot take images of {size} px ({reason}): {_way_out(spec)}") from error
    finally:
        network.train(training)
    shape = tuple(logits.shape) if isinstance(logits, torch.Tensor) else type(logits).__name__
    if shape != (IMAGES, classes):
        raise ModelError(f"{name} gives {shape} for {IMAGES} images, expected logits of shape ({IMAGES}, {classes})")


def _way_out(spec: Spec) -> str:
    own = stats_and_size(spec.arch)[2]
    return "give another --arch" if own == spec.image_size else f"give --img-size {own}, or another --arch"
