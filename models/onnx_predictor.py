"""Prediction with an ONNX file: onnxruntime, Pillow and NumPy, without torch.

predictor = load_onnx(Path("model.onnx"))
predictor.probabilities([image, ...])       # (N, classes)
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from models.answers import answer
from models.description import FORMAT, unsound
from models.errors import ModelError, is_utf8, reason_of
from models.preparation import Preparation

METADATA = FORMAT  # the key under which the description stands in the file
BATCH = 16  # images; more at once are not faster on a CPU
INSTALL = 'pip install "fastsight[onnx]"'


class OnnxPredictor:
    """A session of onnxruntime with the methods of `models.predictor.Predictor`."""

    source: Path | None = None

    def __init__(self, session: Any, facts: dict[str, Any]):
        self.session, self.facts = session, facts
        self.preparation = Preparation.of(facts)
        self.classes = list(facts["classes"])
        self.image_size = min(self.preparation.size)

    def prepare(self, image: Image.Image) -> Image.Image:
        """The image at the size of the network, as validation resized it."""
        return self.preparation.image(image)

    def expect(self, count: int) -> int:
        """Say how many images will come; returns how many to give at a time."""
        return BATCH

    def probabilities(self, images: Sequence[Image.Image]) -> np.ndarray:
        """Class probabilities, float32 (len(images), len(classes)); rows add up to 1."""
        logits = self.logits(images)
        powers = np.exp(logits - logits.max(1, keepdims=True))
        return powers / powers.sum(1, keepdims=True)

    def logits(self, images: Sequence[Image.Image]) -> np.ndarray:
        """What the network says, before it is made into probabilities, float32 (len(images), len(classes))."""
        return answer(self.source, self._logits, images, len(self.classes))

    def _logits(self, images: Sequence[Image.Image]) -> np.ndarray:
        (name,) = (wanted.name for wanted in self.session.get_inputs())
        (logits,) = self.session.run(None, {name: self.preparation.pixels(images)})
        return logits


def load_onnx(path: Path) -> OnnxPredictor:
    """Open an ONNX file that `app.export` wrote.

    Raises
    ------
    ModelError
        onnxruntime is not installed, or the file is damaged or of another program.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise ModelError(f"{path} needs onnxruntime: {INSTALL}") from error
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors alone
    threads = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()  # of the outermost level
    options.intra_op_num_threads = int(threads) if threads.isdecimal() else 0  # its own build does not ask OpenMP
    try:
        source = str(path) if is_utf8(path) else path.read_bytes()
        session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
        facts = json.loads(session.get_modelmeta().custom_metadata_map.get(METADATA, "null"))
    except Exception as error:  # of onnxruntime's own classes
        reason = reason_of(error)
        raise ModelError(f"{path} is not a readable ONNX file ({reason}): export it again") from error
    if facts is None:
        raise ModelError(f"{path} says nothing of its classes: give an ONNX file that app.export wrote")
    if wrong := unsound(facts):
        raise ModelError(f"{path} has a damaged description ({wrong}): export it again")
    return OnnxPredictor(session, facts)
