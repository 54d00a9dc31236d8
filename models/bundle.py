"""The exported model: a pickle that stock fastai loads anywhere, and beside it the same without code.

export(learn, spec, Path("model.pkl"))      # model.pkl, model.safetensors, model.json
"""

import errno
import pickle
import platform
from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePath
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from fastai.data.core import DataLoaders, Datasets, TfmdLists
from fastai.data.transforms import Categorize, IntToFloatTensor, Normalize, ToTensor, parent_label
from fastai.learner import Learner
from fastai.losses import CrossEntropyLossFlat
from fastai.metrics import accuracy
from fastai.vision.augment import Resize
from fastai.vision.core import PILImage

from models import sidecar
from models.preparation import Preparation
from models.rebuild import describe
from models.spec import Spec
from models.temperature import fold
from models.whole_file import whole_files

PACKAGES = ("fastsight", "fastai", "torch", "torchvision", "timm")


class PortablePickler(pickle.Pickler):
    """Writes every path as ``pathlib.Path(...)``: a ``PosixPath`` cannot be loaded on Windows.

    Source: fastai issues 1482 and 3921.
    """

    def reducer_override(self, obj: Any) -> Any:
        return (Path, obj.parts) if isinstance(obj, PurePath) else NotImplemented


# torch.save takes a module, of which it uses these names.
PORTABLE_PICKLE = SimpleNamespace(__name__="pickle", Pickler=PortablePickler)


def export(
    learn: Learner, spec: Spec, path: Path, metrics: Mapping[str, Any] | None = None, temperature: float = 1.0
) -> None:
    """Write the network of `learn` as a stock fastai Learner, and its weights and description beside it.

    The pickle holds classes of torch, torchvision, timm and fastai only (and the user's own, for a network
    of the user's), no data, no callback and no path. Every file is complete or not there: written beside its
    place and renamed, the pickle first. A pickle without a matching description is still a model.

    Parameters
    ----------
    metrics
        What the training reached, by name, for the description; values that JSON holds.
    temperature
        By which the logits are to be divided; it becomes part of the last linear layer (`models.temperature`).
    """
    model = deepcopy(learn.model).cpu().float().eval()
    if temperature != 1:
        fold(model, temperature)
    facts = {
        **describe(model, spec.arch),
        "classes": list(spec.classes),
        **Preparation((spec.image_size, spec.image_size), mean=spec.mean, std=spec.std).facts(),
        "background": "white",  # what the reader puts behind transparent pixels
        "temperature": temperature,  # by which the last layer's weights are divided already
        "metrics": dict(metrics or {}),
        "versions": versions(),
    }
    stock = Learner(_stock_loaders(spec), model, loss_func=CrossEntropyLossFlat(), metrics=accuracy, path=Path("."))
    path = path.resolve()
    with whole_files(path) as (whole,):
        try:
            stock.export(whole, pickle_module=PORTABLE_PICKLE)
        except RuntimeError as error:  # of torch's own writer, which does not say what the system said
            if "inline_container" not in str(error):
                raise
            raise OSError(errno.ENOSPC, "cannot be written whole, no space left perhaps", str(path)) from error
    sidecar.write(path.with_suffix(sidecar.WEIGHTS), facts, model.state_dict(), path)


def versions() -> dict[str, str]:
    """The versions of what made a model."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def _stock_loaders(spec: Spec) -> DataLoaders:
    """Empty loaders that do what validation did, built from fastai's transforms alone."""
    # fastai finds the types by running one item through: a black pixel, which `Learner.export` drops again.
    pixel = np.zeros((1, 1, 3), np.uint8)
    images = TfmdLists([pixel], [PILImage.create])
    to_label = [parent_label, Categorize(list(spec.classes), sort=False)]
    named = next((name for name in spec.classes if parent_label(f"{name}/pixel") == name), None)
    # No folder can have the name of a class such as "." or "n/a", which a table can.
    labels = TfmdLists([f"{named}/pixel"], to_label) if named else TfmdLists([spec.classes[0]], to_label[1:])
    datasets = Datasets(tls=[images, labels])
    return DataLoaders.from_dsets(
        datasets,
        datasets,
        after_item=[Resize(spec.image_size), ToTensor()],
        after_batch=[IntToFloatTensor(), Normalize.from_stats(spec.mean, spec.std, cuda=False)],
        device=torch.device("cpu"),
    )
