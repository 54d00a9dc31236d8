"""A network as an ONNX file: uint8 images in, logits out, normalisation inside, and its description with it.

export_onnx(predictor, Path("model.onnx"), images)      # the greatest difference in probability
"""

import io
import json
import logging
import warnings
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import torch
from PIL import Image
from torch import Tensor, nn

from models.errors import ModelError, reason_of
from models.onnx_predictor import INSTALL, METADATA, load_onnx
from models.predictor import Predictor
from models.safe_export import compare, description

OPSET = 18  # the one that torch's exporter is written for
LARGEST_DIFFERENCE = 1e-4  # of a probability, between the source and the file


class _FromPixels(nn.Module):
    """uint8 (N, 3, H, W) to logits."""

    def __init__(self, predictor: Predictor):
        super().__init__()
        self.network = predictor.network
        self.register_buffer("mean", torch.tensor(predictor.preparation.mean).view(1, -1, 1, 1))
        self.register_buffer("std", torch.tensor(predictor.preparation.std).view(1, -1, 1, 1))

    def forward(self, pixels: Tensor) -> Tensor:
        return self.network((pixels.float() / 255 - self.mean) / self.std)


def export_onnx(predictor: Predictor, path: Path, images: Sequence[Image.Image]) -> float:
    """Write `path`, and compare it with its source on `images`.

    Returns
    -------
    float
        The greatest difference in a probability, over all images and classes.

    Raises
    ------
    ModelError
        The packages are not installed, the network cannot be exported, or the file predicts otherwise: another
        likeliest class, or a difference of more than `LARGEST_DIFFERENCE`.
    """
    try:
        import onnx
        import onnxruntime  # noqa: F401  needed to compare
        import onnxscript  # noqa: F401  torch's exporter needs it
    except ImportError as error:
        raise ModelError(f"ONNX needs {error.name}: {INSTALL}") from error
    width, height = predictor.preparation.size
    example = torch.zeros(2, 3, height, width, dtype=torch.uint8)  # one image would be taken for a fixed batch
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            program = torch.onnx.export(
                _FromPixels(predictor).eval(),
                (example,),
                input_names=["images"],
                output_names=["logits"],
                dynamic_shapes={"pixels": {0: torch.export.Dim("batch")}},
                opset_version=OPSET,
                dynamo=True,
            )
    except Exception as error:  # whatever the exporter meets in a network
        reason = reason_of(_first_cause(error), 160)
        raise ModelError(f"this network cannot be exported to ONNX ({reason})") from error
    model = program.model_proto
    onnx.helper.set_model_props(model, {METADATA: json.dumps(description(predictor))})
    onnx.save(model, path)
    return compare(predictor, load_onnx(path), images, LARGEST_DIFFERENCE)


def _first_cause(error: BaseException) -> BaseException:
    while error.__cause__ is not None:  # what torch puts around it is on how to write an exporter
        error = error.__cause__
    return error
