"""From a file to a predictor, with no more code than the file needs, and one line per failure.

predictor = load(Path("model.pkl"))
predictor.probabilities([image, ...])       # (N, classes)

A ``model.pkl`` with its description beside it is not unpickled at all; without one it is read through an allow-list.
"""

from pathlib import Path
from typing import Any

from models import archive, sidecar
from models.errors import ModelError
from models.light_import import import_lightly
from models.temperature import Uncalibrated


def load(path: Path, trust: bool = False, raw: bool = False) -> Any:
    """Load an exported model: a .pkl of ours or of stock fastai, a .safetensors or its .json, or an .onnx.

    Parameters
    ----------
    trust
        Run the code that a pickle holds, and that of a network of the user's own.
    raw
        Undo its calibration (`models.temperature.Uncalibrated`).

    Returns
    -------
    Predictor
        `models.predictor.Predictor`, or a class with its methods.

    Raises
    ------
    ModelError
        No such file, it holds something else, or needs `trust`; the message says what.
    """
    found = _load(path, trust)
    found.source = path
    if not raw:
        return found
    try:
        return Uncalibrated(found)
    except ModelError as error:
        raise ModelError(f"{path} {error}") from error


def _load(path: Path, trust: bool) -> Any:
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "is no regular file" if path.exists() else "no such file"
        raise ModelError(f"{path}: {what}, give an exported model.pkl")
    if path.stat().st_size == 0:
        raise ModelError(f"{path} is empty: export the model again")
    if path.suffix == ".onnx":
        from models.onnx_predictor import load_onnx

        return load_onnx(path)
    if path.suffix not in (sidecar.JSON, sidecar.WEIGHTS):
        archive.check(path)
    facts = sidecar.read(path)
    if facts is None:
        archive.check_content(path)
    if facts is None and trust:
        from models.trusted import load_trusted

        return load_trusted(path)
    import_lightly("torchvision")  # which all networks but a few need
    if facts is None:
        from models.safe_load import load_safely

        return load_safely(path)
    from models.predictor import of_facts

    weights = sidecar.load_weights(path)
    try:
        return of_facts(facts, weights, trust)
    except ModelError as error:
        raise ModelError(f"{path} {error}") from error
