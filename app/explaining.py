"""``--explain DIR``: a picture per image of where in it the network sees the class it names.

explain = Explainer(predictor, Path("why"), "model.pkl")
explain([("photo.jpg", image), ...])        # images as `predictor.prepare` returns them
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from app.errors import UsageError
from app.evaluation.scores import Scores
from app.outputs import written
from data import ImageError, read_image
from models.errors import ModelError
from models.grad_cam import grad_cam, last_maps

SIDE = 448  # px, of a picture, which shows the image beside itself with the heat over it
SHARE = 0.5  # of the heat's colour where the heat is largest


class Explainer:
    """Writes Grad-CAM overlays for a loaded model.

    Parameters
    ----------
    folder
        Made when it is not there; no file in it is replaced.
    model
        Its name, for messages.

    Attributes
    ----------
    paths : list[Path]
        What has been written.

    Raises
    ------
    ModelError
        The model is an ONNX file or loaded by ``--trust``, or of a kind for which Grad-CAM has no meaning.
    UsageError
        The folder cannot be made.
    """

    def __init__(self, predictor: Any, folder: Path, model: str):
        self._predictor, self._folder, self.paths = predictor, folder, []
        if not hasattr(predictor, "normalised"):  # ONNX has no gradients; a Learner that is run as it is, its own ways
            raise ModelError(f"--explain: needs a model.pkl or .safetensors of app.train, without --trust, not {model}")
        size = getattr(predictor.preparation, "size", None) or (224, 224)
        blank = Image.new("RGB", size)
        try:
            self._layer = last_maps(predictor.network, predictor.normalised([predictor.prepare(blank)]))
        except ModelError as error:
            raise ModelError(f"--explain: {model} {error}") from error
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--explain {folder} is no folder and cannot be made ({error.strerror})") from error

    def prepared(self, source: Any, truncated: bool = False) -> Image.Image:
        """The image as the network sees it; raises `data.ImageError` where it cannot be read."""
        image = read_image(source, for_size=self._predictor.image_size, truncated=truncated)
        return self._predictor.prepare(image)

    def __call__(self, named: Sequence[tuple[str, Image.Image]]) -> list[Path]:
        """Explain the likeliest class of each image; the paths of the pictures, in their order."""
        batch = self._predictor.normalised([image for _, image in named])
        with torch.no_grad():
            classes = self._predictor.network(batch).argmax(1)
        heats = grad_cam(self._predictor.network, self._layer, batch, classes)
        made = []
        for (name, image), heat in zip(named, heats.numpy()):
            path = _free(self._folder, Path(name).stem or "image")
            with written(path) as partial:
                overlay(image, heat).save(partial, format="png")
            made.append(path)
        self.paths += made
        return made


def explain_scores(explain: Explainer, scores: Scores, count: int, truncated: bool = False) -> list[Path]:
    """Explain the worst errors, and as many again that are right, up to `count` together; the pictures' paths.

    A file's name begins with ``wrong`` or ``right``, and says what was taken for what.
    """
    wrong = scores.worst(count // 2)
    right = (scores.predicted == scores.targets).nonzero().flatten().tolist()
    made: list[Path] = []
    for index in [*wrong, *right[:: max(1, len(right) // (count - len(wrong)))][: count - len(wrong)]]:
        true, said = (scores.classes[values[index]] for values in (scores.targets, scores.predicted))
        judged = f"right-{true}" if true == said else f"wrong-{said}-for-{true}"
        name = f"{judged}-{Path(scores.name(index)).name}".replace("/", "_")
        with suppress(ImageError):  # the file has gone since
            made += explain([(name, explain.prepared(scores.samples[index].source, truncated))])
    return made


def overlay(image: Image.Image, heat: np.ndarray) -> Image.Image:
    """The image, and beside it the image under its heat; `heat` is float32 (height, width), from 0 to 1."""
    from matplotlib import colormaps  # perceptually even: equal steps of heat look equal

    colours = (colormaps["inferno"](heat)[..., :3] * 255).astype(np.float32)
    share = SHARE * heat[..., None]
    pixels = np.asarray(image.convert("RGB"), np.float32)
    blended = (pixels * (1 - share) + colours * share).round().astype(np.uint8)
    both = Image.fromarray(np.concatenate([pixels.astype(np.uint8), blended], 1))
    factor = SIDE / image.height
    return both.resize((round(both.width * factor), SIDE), Image.Resampling.BICUBIC)


def _free(folder: Path, stem: str) -> Path:
    path, number = folder / f"{stem}.png", 1
    while path.exists():
        number += 1
        path = folder / f"{stem}-{number}.png"
    return path
