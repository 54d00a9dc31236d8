"""The exported model: written so that stock fastai loads it anywhere, read with one line per failure.

    export(learn, spec, Path("model.pkl"))
    predictor = load(Path("model.pkl"))
    predictor.probabilities([image, ...])       # (N, classes)

``model.pkl`` is a fastai Learner. A pickle is code: load only models from people you trust.
"""

import errno
import os
import pickle
import warnings
import zipfile
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import fastai.callback.progress  # noqa: F401  gives Learner no_bar
import numpy as np
import torch
from fastai.data.core import DataLoaders, Datasets, TfmdLists
from fastai.data.transforms import Categorize, IntToFloatTensor, Normalize, ToTensor, parent_label
from fastai.learner import Learner, load_learner
from fastai.losses import CrossEntropyLossFlat
from fastai.metrics import accuracy
from fastai.vision.augment import Resize
from fastai.vision.core import PILImage
from PIL import Image

from models.errors import ModelError
from models.own import look_in_working_directory
from models.spec import Spec


class PortablePickler(pickle.Pickler):
    """Writes every path as ``pathlib.Path(...)``: a ``PosixPath`` cannot be loaded on Windows.

    Source: fastai issues 1482 and 3921.
    """

    def reducer_override(self, obj: Any) -> Any:
        return (Path, obj.parts) if isinstance(obj, PurePath) else NotImplemented


class NamingUnpickler(pickle.Unpickler):
    """Says which module is missing: an ImportError would end in an UnboundLocalError in fastai's load_learner.

    Seen in fastai 2.8; can go when load_learner lets the error through.
    """

    def find_class(self, module: str, name: str) -> Any:
        try:
            return super().find_class(module, name)
        except ImportError as error:
            raise ModelError(f"needs the module {module!r}: install it, or run where it can be imported") from error


# torch.save and torch.load take a module, of which they use these names.
PORTABLE_PICKLE = SimpleNamespace(__name__="pickle", Pickler=PortablePickler)
NAMING_PICKLE = SimpleNamespace(__name__="pickle", Unpickler=NamingUnpickler)


def export(learn: Learner, spec: Spec, path: Path) -> None:
    """Write the network of `learn` as a stock fastai Learner.

    The file holds classes of torch, torchvision, timm and fastai only (and the user's own, for a network
    of the user's), no data, no callback and no path. It is complete or not there: written beside `path`
    and renamed.
    """
    model = deepcopy(learn.model).cpu().float().eval()
    stock = Learner(_stock_loaders(spec), model, loss_func=CrossEntropyLossFlat(), metrics=accuracy, path=Path("."))
    path = path.resolve()
    with TemporaryDirectory(dir=path.parent, prefix=".export-") as folder:
        whole = Path(folder, path.name)
        try:
            stock.export(whole, pickle_module=PORTABLE_PICKLE)
        except RuntimeError as error:  # of torch's own writer, which does not say what the system said
            if "inline_container" not in str(error):
                raise
            raise OSError(errno.ENOSPC, "cannot be written whole, no space left perhaps", str(path)) from error
        os.replace(whole, path)


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


class Predictor:
    """A loaded model: its class names, and probabilities for images.

    ``image_size`` is the side in pixels to which it resizes an image, or None when it does otherwise.
    """

    def __init__(self, learn: Learner):
        self.learn = learn
        self.classes = [str(name) for name in learn.dls.vocab]
        resizes = [step for step in learn.dls.after_item.fs if isinstance(step, Resize)]
        self._resize = resizes[0] if len(resizes) == 1 else None
        self.image_size = min(self._resize.size) if self._resize else None

    def prepare(self, image: Image.Image) -> Image.Image:
        """The image at the size of the network, as validation resized it: all that has to be kept of a large one."""
        image = PILImage(image.convert("RGB"))
        return self._resize(image, split_idx=1) if self._resize else image

    def probabilities(self, images: Sequence[Image.Image]) -> torch.Tensor:
        """Class probabilities, float32 (len(images), len(classes)); rows add up to 1."""
        items = [self.prepare(image) for image in images]  # what is prepared already stays as it is
        batch = self.learn.dls.test_dl(items, bs=len(items), num_workers=0)
        with self.learn.no_bar():
            return self.learn.get_preds(dl=batch)[0]


def load(path: Path) -> Predictor:
    """Load an exported Learner, ours or of stock fastai.

    Raises
    ------
    ModelError
        No such file, or it holds something else; the message says what.
    """
    if not path.is_file():
        raise ModelError(f"{path}: {'is a folder' if path.is_dir() else 'no such file'}, give an exported model.pkl")
    if path.stat().st_size == 0:
        raise ModelError(f"{path} is empty: export the model again")
    if not zipfile.is_zipfile(path) and path.read_bytes()[:2] == b"PK":
        raise ModelError(f"{path} is incomplete, its end is missing: copy or export it again")
    if not _holds_a_pickle(path):
        raise ModelError(f"{path} is not an exported model: give the model.pkl that app.train wrote")
    look_in_working_directory()  # where a network of the user's own may be
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fastai's paragraph on pickles; the README has ours
            return Predictor(load_learner(path, pickle_module=NAMING_PICKLE))
    except Exception as error:  # unpickling runs whatever constructors the file names
        raise ModelError(f"{path} {_cause(error)}") from error


def _holds_a_pickle(path: Path) -> bool:
    """Whether `path` is an archive as torch.save writes it."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any(name.endswith("/data.pkl") for name in archive.namelist())


def _cause(error: Exception) -> str:
    if isinstance(error, ModelError):
        return str(error)
    if isinstance(error, AttributeError) and error.name == "dls":
        return f"holds no Learner but {type(error.obj).__name__}: give the model.pkl that app.train wrote"
    return f"cannot be loaded ({type(error).__name__}: {' '.join(str(error).split())[:160]}): export it again"
