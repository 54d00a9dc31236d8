"""An exported Learner loaded as stock fastai loads it, with whatever code it holds: for files that are trusted.

predictor = load_trusted(Path("model.pkl"))
predictor.learn                             # the fastai Learner
"""

import pickle
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fastai.callback.progress  # noqa: F401  gives Learner no_bar
import torch
from fastai.learner import Learner, load_learner
from fastai.vision.augment import Resize
from fastai.vision.core import PILImage
from PIL import Image

from models.answers import answer
from models.errors import ModelError, reason_of
from models.own import look_in_working_directory


class NamingUnpickler(pickle.Unpickler):
    """Says which module is missing: an ImportError would end in an UnboundLocalError in fastai's load_learner.

    Seen in fastai 2.8; can go when load_learner lets the error through.
    """

    def find_class(self, module: str, name: str) -> Any:
        try:
            return super().find_class(module, name)
        except ImportError as error:
            raise ModelError(f"needs the module {module!r}: install it, or run where it can be imported") from error


BATCH = 16  # images

# torch.load takes a module, of which it uses these names.
NAMING_PICKLE = SimpleNamespace(__name__="pickle", Unpickler=NamingUnpickler)


class LearnerPredictor:
    """A Learner with the methods of `models.predictor.Predictor`."""

    source: Path | None = None

    def __init__(self, learn: Learner):
        self.learn, self.network = learn, learn.model.eval()
        self.classes = [str(name) for name in learn.dls.vocab]
        resizes = [step for step in learn.dls.after_item.fs if isinstance(step, Resize)]
        self._resize = resizes[0] if len(resizes) == 1 else None
        self.image_size = min(self._resize.size) if self._resize else None

    def prepare(self, image: Image.Image) -> Image.Image:
        """The image at the size of the network, as validation resized it: all that has to be kept of a large one."""
        image = PILImage(image.convert("RGB"))
        return self._resize(image, split_idx=1) if self._resize else image

    def expect(self, count: int) -> int:
        """Say how many images will come; returns how many to give at a time."""
        return BATCH

    def probabilities(self, images: Sequence[Image.Image]) -> torch.Tensor:
        """Class probabilities, float32 (len(images), len(classes)); rows add up to 1."""
        return self._answer(images)

    def logits(self, images: Sequence[Image.Image]) -> torch.Tensor:
        """What the network says, before it is made into probabilities, float32 (len(images), len(classes))."""
        return self._answer(images, act=_unchanged)

    def _answer(self, images: Sequence[Image.Image], **options: Any) -> torch.Tensor:
        return answer(self.source, partial(self._run, **options), images, len(self.classes))

    def _run(self, images: Sequence[Image.Image], **options: Any) -> torch.Tensor:
        items = [self.prepare(image) for image in images]  # what is prepared already stays as it is
        batch = self.learn.dls.test_dl(items, bs=len(items), num_workers=0)
        with self.learn.no_bar():
            return self.learn.get_preds(dl=batch, **options)[0]


def _unchanged(logits: torch.Tensor) -> torch.Tensor:
    return logits


def load_trusted(path: Path) -> LearnerPredictor:
    """Load with fastai's `load_learner`, modules in the working directory included.

    Raises
    ------
    ModelError
        It holds something else, or cannot be loaded.
    """
    look_in_working_directory()  # where a network of the user's own may be
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fastai's paragraph on pickles: the caller has said that he trusts it
            return LearnerPredictor(load_learner(path, pickle_module=NAMING_PICKLE))
    except Exception as error:  # unpickling runs whatever constructors the file names
        raise ModelError(f"{path} {_cause(error)}") from error


def _cause(error: Exception) -> str:
    if isinstance(error, ModelError):
        return str(error)
    if isinstance(error, AttributeError) and error.name == "dls":
        return f"holds no Learner but {type(error.obj).__name__}: give the model.pkl that app.train wrote"
    return f"cannot be loaded ({type(error).__name__}: {reason_of(error, 160)}): export it again"
