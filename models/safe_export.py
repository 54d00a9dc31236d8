"""A loaded model as weights and a description without code, and the comparison of any export with its source.

export_safetensors(predictor, Path("model.safetensors"), images)    # the greatest difference in probability
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from PIL import Image

from models import sidecar
from models.errors import ModelError
from models.loading import load
from models.predictor import Predictor
from models.whole_file import whole_files

BATCH = 16


def export_safetensors(
    predictor: Predictor, path: Path, images: Sequence[Image.Image], *, source: Path, trust: bool = False
) -> float:
    """Write `path`, a .safetensors file, and the .json beside it, once they are seen to predict the same.

    They become the safe half of `source`, the file of `predictor`, where that is a pickle of the same name.

    Returns
    -------
    float
        The greatest difference in a probability, over all images and classes.

    Raises
    ------
    ModelError
        The source does not say which architecture it is; a file that is there is not one of ours; or the files
        predict otherwise.
    """
    if "architecture" not in predictor.facts:
        raise ModelError(f"{source} does not say which architecture it is, as safetensors must: give --to onnx")
    described = path.with_suffix(sidecar.JSON)
    for there in (path, described):
        if there.exists() and not sidecar.is_ours(there):
            raise ModelError(f"{there} is there already and no part of a model: choose another name")
    with whole_files(path, described) as (written, _):
        pickle = source if source.resolve() == path.with_suffix(".pkl").resolve() else None
        sidecar.write(written, description(predictor), predictor.network.state_dict(), pickle)
        difference = compare(predictor, load(written, trust), images, largest=1e-5)
    return difference


def description(predictor: Any) -> dict[str, Any]:
    """What is known of a model, without the hashes of the files that it came in."""
    known = {key: value for key, value in predictor.facts.items() if key not in ("format", "version", "sha256")}
    usual = {"background": "white", "temperature": 1.0, "metrics": {}, "versions": {}}
    return usual | known | predictor.preparation.facts() | {"classes": predictor.classes}


def compare(source: Any, exported: Any, images: Sequence[Image.Image], largest: float) -> float:
    """The greatest difference in a probability between two predictors.

    Raises
    ------
    ModelError
        It is more than `largest`, or another class is the likeliest.
    """
    expected, found = (
        torch.cat([torch.as_tensor(predict(images[start : start + BATCH])) for start in range(0, len(images), BATCH)])
        for predict in (source.probabilities, exported.probabilities)
    )
    difference = (expected - found).abs().max().item()
    if not difference <= largest or not torch.equal(expected.argmax(1), found.argmax(1)):
        raise ModelError(f"the exported file predicts otherwise (by {difference:.1e}): it was not kept")
    return difference
