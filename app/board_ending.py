"""What TensorBoard gets when a training is over: pictures, precision-recall curves, settings beside results, texts.

write_ending(board.writer, settings, scores, measures, {"run/confusion_matrix": folder / "confusion_matrix.png"})
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from torch.utils.tensorboard import SummaryWriter

from app.evaluation.metrics import Measures
from app.evaluation.scores import Scores
from app.outputs import printable
from callbacks.tensorboard import write_hparams

MOST_CURVES = 20  # classes, the first of them
# Those by which runs are compared.
COMPARED = ("arch", "pretrained", "img_size", "probe", "epochs", "freeze_epochs", "batch_size", "opt", "lr", "wd")
COMPARED += ("aug", "aug_mult", "amp", "compile", "seed")


def write_ending(
    writer: SummaryWriter, settings: Mapping[str, Any], scores: Scores, measures: Measures, pictures: Mapping[str, Path]
) -> None:
    """Add to the run's events; `pictures` are PNG files by the tag under which they are shown."""
    writer.add_text("run/settings", _table(settings))
    for tag, path in pictures.items():
        with Image.open(path) as image:
            writer.add_image(tag, np.asarray(image.convert("RGB")), dataformats="HWC")
    for index, name in enumerate(scores.classes[:MOST_CURVES]):
        tag = f"precision_recall/{printable(name)}"  # a folder's name need not be valid Unicode
        writer.add_pr_curve(tag, scores.targets == index, scores.probabilities[:, index])
    compared = {key: _plain(settings[key]) for key in COMPARED if settings.get(key) is not None}
    write_hparams(
        writer,
        compared,
        {
            "final/accuracy": measures.accuracy,
            "final/macro_f1": measures.macro.f1,
            "final/log_loss": measures.log_loss,
            "final/calibration_error": measures.calibration.error,
        },
    )


def _table(values: Mapping[str, Any]) -> str:
    """Markdown, in which a bar would end a cell."""
    rows = [f"| {key} | {printable(str(value)).replace('|', chr(92) + '|')} |" for key, value in values.items()]
    return "\n".join(["| setting | value |", "|---|---|", *rows])


def _plain(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float)) else printable(str(value))
