"""From a spec to a fastai ``Learner`` whose network, head, splitter and freezing are fastai's own.

learn = models.learner(loaders, spec, path=run_folder, opt="adam")
"""

import pickle
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import fastai.callback.schedule  # noqa: F401  gives Learner fit_one_cycle and lr_find
import timm
import torch
import torchvision
from fastai.data.core import DataLoaders
from fastai.learner import Learner
from fastai.losses import CrossEntropyLossFlat
from fastai.metrics import AccumMetric, F1Score, accuracy
from fastai.optimizer import SGD, Adam
from fastai.vision.learner import model_meta, vision_learner
from torch import nn

from models import airbench_training, efficientnet_lite, linear_head
from models.airbench import AIRBENCH, whiten_by
from models.architectures import cifar_networks
from models.check import check_network
from models.errors import ModelError, reason_of
from models.own import load_own
from models.rebuild import replace_classifier
from models.spec import Spec
from models.start import take_over

OPTIMIZERS = {"adam": Adam, "sgd": partial(SGD, mom=0.9), "muon": airbench_training.optimizer}


def learner(
    loaders: DataLoaders,
    spec: Spec,
    *,
    path: Path = Path("."),
    opt: str = "adam",
    class_weights: Mapping[str, float] | None = None,
    label_smoothing: float = 0.0,
    train_bn: bool = True,
    start: Any = None,
) -> Learner:
    """Build the network and the Learner that trains it.

    Networks of ours, and the user's own, are trained whole; those of torchvision and timm are cut
    into a body and fastai's head, and start frozen when they are pretrained. That head is one linear layer
    (`models.linear_head`) where a probe is to be written into it.

    Parameters
    ----------
    path
        Where fastai may write; never the data set's folder.
    opt
        ``adam`` (fastai's Adam, decoupled weight decay) or ``sgd`` (momentum 0.9); or ``muon``, for the networks of
        `models.airbench` alone.
    class_weights
        What each class, by name, counts in the loss; None for all alike.
    label_smoothing
        Share of the target that is spread over all classes (Szegedy et al. 2016, section 7), in validation too.
    train_bn
        Train the weights of the body's batch norms also while the body is frozen, as fastai does by default.
    start
        A loaded model (`models.load`) whose weights are taken over instead of published ones.

    Raises
    ------
    ModelError
        The weights cannot be fetched, or those of `start` are of another network; or the network cannot be built, or
        not for this size and number of classes.
    """
    weight = None if class_weights is None else torch.tensor([class_weights[name] for name in spec.classes])
    options = {
        "loss_func": CrossEntropyLossFlat(weight=weight, label_smoothing=label_smoothing),
        "metrics": [accuracy, macro_f1()],
        "opt_func": OPTIMIZERS[opt],
        "path": path,
        "train_bn": train_bn,
    }
    learn = _build(loaders, spec if start is None else replace(spec, pretrained=False), options)
    if spec.probe and isinstance(learn.model, nn.Sequential):  # fastai's body and head
        linear_head.add_bias(learn.model)
        learn.opt = None  # fastai's knows the layer that was there
    if spec.arch.name in AIRBENCH:
        whiten_by(learn)
    if start is not None:
        take_over(learn.model, spec.classes, start)
    check_network(learn.model, spec)
    if spec.pretrained:
        learn.freeze()
    return learn


def macro_f1() -> AccumMetric:
    """The mean of the classes' F1 scores, those aside that are neither there nor predicted; scikit-learn's."""
    metric = F1Score(average="macro")
    metric.name = "f1"
    return metric


def _build(loaders: DataLoaders, spec: Spec, options: dict[str, Any]) -> Learner:
    name, classes = spec.arch.name, len(spec.classes)
    if spec.arch.family == "cifar":
        if options["opt_func"] is OPTIMIZERS["muon"]:  # which has a penalty for every group
            options |= {"splitter": airbench_training.groups, "wd_bn_bias": True}
        return Learner(loaders, cifar_networks()[name](classes), **options)
    if spec.arch.family == "own":
        return Learner(loaders, _own_network(name, classes), **options)
    head_options = {"normalize": False, "n_out": classes, **(linear_head.OPTIONS if spec.probe else {}), **options}
    if spec.pretrained and name in efficientnet_lite.NAMES:
        learn = vision_learner(loaders, name, pretrained=False, **head_options)
        body = learn.model[0].model
        body.load_state_dict(efficientnet_lite.packaged_state_dict(body))
        return learn
    with _one_line(spec):
        if spec.arch.family == "timm":
            learn = vision_learner(loaders, name, pretrained=spec.pretrained, **head_options)
            if getattr(learn.model[0].model, "output_fmt", "NCHW") == "NCHW":
                return learn
            network = timm.create_model(name, pretrained=spec.pretrained)  # fastai's head would pool the wrong axes
            return _with_new_classifier(loaders, network, classes, options)
        arch = getattr(torchvision.models, name)
        if arch in model_meta:
            return vision_learner(loaders, arch, pretrained=spec.pretrained, **head_options)
        return _with_new_classifier(loaders, _torchvision_network(spec), classes, options)


def _own_network(name: str, classes: int) -> nn.Module:
    try:
        network = load_own(name)(classes)
    except ModelError:
        raise
    except (Exception, SystemExit) as error:  # the user's code: whatever it raises is reported
        raise ModelError(f"{name}({classes}) raised {type(error).__name__}: {reason_of(error, None)}") from error
    if not isinstance(network, nn.Module):
        raise ModelError(f"{name}({classes}) returned {type(network).__name__}, not a torch.nn.Module")
    try:
        pickle.dumps(network)
    except Exception as error:  # known now, not after hours of training
        raise ModelError(f"{name}({classes}) cannot be saved ({reason_of(error, None)})") from error
    return network


def _torchvision_network(spec: Spec) -> nn.Module:
    options: dict[str, Any] = {"weights": "DEFAULT" if spec.pretrained else None}
    if not spec.pretrained:  # published weights settle these
        if spec.arch.name.startswith("vit_"):
            options["image_size"] = spec.image_size  # as many position embeddings
        if spec.arch.name in ("googlenet", "inception_v3"):
            options["init_weights"] = True  # the default, which warns until it is spelled out
    return getattr(torchvision.models, spec.arch.name)(**options)


def _with_new_classifier(loaders: DataLoaders, network: nn.Module, classes: int, options: dict[str, Any]) -> Learner:
    """Replace the last linear layer, for the networks that fastai does not know how to cut.

    The parameter groups are all but the new layer, and the new layer.
    """
    name = replace_classifier(network, classes)
    return Learner(loaders, network, splitter=partial(_body_and_layer, name=name), **options)


def _body_and_layer(network: nn.Module, name: str) -> list[list[nn.Parameter]]:
    layer = list(network.get_submodule(name).parameters())
    own = {id(parameter) for parameter in layer}
    return [[parameter for parameter in network.parameters() if id(parameter) not in own], layer]


@contextmanager
def _one_line(spec: Spec) -> Iterator[None]:
    """Turn what a builder or a hub client raises into one line; their classes differ from version to version.

    torch.hub says on standard output what it downloads; here that is talk, and goes to standard error.
    """
    try:
        with redirect_stdout(sys.stderr):
            yield
    except Exception as error:
        name, reason = spec.arch.name, reason_of(error)
        if not spec.pretrained:
            raise ModelError(
                f"{name} cannot be built ({type(error).__name__}: {reason}): try another --arch"
            ) from error
        raise ModelError(
            f"no pretrained weights for {name} ({reason}): check the network connection, "
            f"train from scratch with --no-pretrained, or use the embedded --arch {efficientnet_lite.ARCH}"
        ) from error
