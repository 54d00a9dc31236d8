"""From a spec to a fastai ``Learner`` whose network, head, splitter and freezing are fastai's own.

learn = models.learner(loaders, spec, path=run_folder, opt="adam")
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import fastai.callback.schedule  # noqa: F401  gives Learner fit_one_cycle and lr_find
import torchvision
from fastai.data.core import DataLoaders
from fastai.learner import Learner
from fastai.losses import CrossEntropyLossFlat
from fastai.metrics import accuracy
from fastai.optimizer import SGD, Adam
from fastai.vision.learner import model_meta, vision_learner
from torch import nn

from models import efficientnet_lite
from models.architectures import load_own
from models.cifar_resnet import CIFAR_RESNETS
from models.errors import ModelError
from models.spec import Spec

OPTIMIZERS = {"adam": Adam, "sgd": partial(SGD, mom=0.9)}


def learner(loaders: DataLoaders, spec: Spec, *, path: Path = Path("."), opt: str = "adam") -> Learner:
    """Build the network and the Learner that trains it.

    Networks of ours, and the user's own, are trained whole; those of torchvision and timm are cut
    into a body and fastai's head, and start frozen when they are pretrained.

    Parameters
    ----------
    path
        Where fastai may write; never the data set's folder.
    opt
        ``adam`` (fastai's Adam, decoupled weight decay) or ``sgd`` (momentum 0.9).

    Raises
    ------
    ModelError
        The weights cannot be fetched, or the network cannot be built.
    """
    options = {
        "loss_func": CrossEntropyLossFlat(),
        "metrics": accuracy,
        "opt_func": OPTIMIZERS[opt],
        "path": path,
    }
    classes = len(spec.classes)
    if spec.arch.family == "cifar":
        return Learner(loaders, CIFAR_RESNETS[spec.arch.name](classes), **options)
    if spec.arch.family == "own":
        return Learner(loaders, _own_network(spec.arch.name, classes), **options)
    head_options = {"normalize": False, "n_out": classes, **options}
    if spec.pretrained and spec.arch.name == efficientnet_lite.ARCH:
        learn = vision_learner(loaders, spec.arch.name, pretrained=False, **head_options)
        body = learn.model[0].model
        body.load_state_dict(efficientnet_lite.packaged_state_dict(body))
        learn.freeze()
        return learn
    with _fetching_weights(spec):
        if spec.arch.family == "timm":
            return vision_learner(loaders, spec.arch.name, pretrained=spec.pretrained, **head_options)
        arch = getattr(torchvision.models, spec.arch.name)
        if arch in model_meta:
            return vision_learner(loaders, arch, pretrained=spec.pretrained, **head_options)
        network, splitter = _with_new_classifier(arch(weights="DEFAULT" if spec.pretrained else None), classes)
        learn = Learner(loaders, network, splitter=splitter, **options)
    if spec.pretrained:
        learn.freeze()
    return learn


def _own_network(name: str, classes: int) -> nn.Module:
    try:
        network = load_own(name)(classes)
    except ModelError:
        raise
    except Exception as error:  # the user's code: whatever it raises is reported
        raise ModelError(f"{name}({classes}) raised {type(error).__name__}: {' '.join(str(error).split())}") from error
    if not isinstance(network, nn.Module):
        raise ModelError(f"{name}({classes}) returned {type(network).__name__}, not a torch.nn.Module")
    return network


def _with_new_classifier(network: nn.Module, classes: int) -> tuple[nn.Module, Callable]:
    """Replace the last linear layer, for torchvision's networks that fastai does not know how to cut.

    Returns the network and its splitter: all but the new layer, and the new layer.
    """
    if getattr(network, "aux_logits", False):  # GoogLeNet and Inception return a tuple with them
        network.aux_logits = False
        for name in ("aux1", "aux2", "AuxLogits"):
            if hasattr(network, name):
                setattr(network, name, None)
    name, last = [(name, module) for name, module in network.named_modules() if isinstance(module, nn.Linear)][-1]
    network.set_submodule(name, nn.Linear(last.in_features, classes))
    return network, partial(_body_and_layer, name=name)


def _body_and_layer(network: nn.Module, name: str) -> list[list[nn.Parameter]]:
    layer = list(network.get_submodule(name).parameters())
    own = {id(parameter) for parameter in layer}
    return [[parameter for parameter in network.parameters() if id(parameter) not in own], layer]


@contextmanager
def _fetching_weights(spec: Spec) -> Iterator[None]:
    """Turn what a hub client raises into one line; its classes differ from version to version."""
    try:
        yield
    except Exception as error:
        if not spec.pretrained:
            raise
        reason = " ".join(str(error).split())[:120]
        raise ModelError(
            f"no pretrained weights for {spec.arch.name} ({reason}): check the network connection, "
            f"train from scratch with --no-pretrained, or use the embedded --arch {efficientnet_lite.ARCH}"
        ) from error
