"""What TensorBoard gets when a training is over: pictures, precision-recall curves, settings beside results, texts.

write_ending(board.writer, settings, scores, measures, {"run/confusion_matrix": folder / "confusion_matrix.png"})
write_facts(board.writer, folder, scan)
"""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from torch.utils.tensorboard import SummaryWriter

from app.evaluation.metrics import Measures
from app.evaluation.scores import Scores
from app.outputs import printable
from app.run_folder import ENVIRONMENT
from callbacks.tensorboard import write_hparams
from data import Scan

MOST_CURVES = 20  # classes, the first of them
MOST_REASONS = 10
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


def write_facts(writer: SummaryWriter, folder: Path, scan: Scan) -> None:
    """Add, as texts, on what the run of `folder` was trained and why, and what the audit of the data said."""
    environment = json.loads((folder / ENVIRONMENT).read_text(encoding="utf-8"))
    device = {"device": environment["device"], "because": environment["device_reason"]}
    writer.add_text("run/device", _table({**device, "platform": environment["platform"], **environment["versions"]}))
    severities = Counter(finding.severity for finding in scan.findings)
    counts = {
        "source": f"{scan.source} ({scan.layout})",
        "classes": len(scan.classes),
        "training images": len(scan.train),
        "validation images": len(scan.valid),
        "files left out": len(scan.skipped),
        "warnings of the audit": severities["warning"],
        "notes of the audit": severities["note"],
    }
    reasons = Counter(reason for _, reason in scan.skipped).most_common(MOST_REASONS)
    lines = [*scan.notices, *(f"left out, {count}: {reason}" for reason, count in reasons)]
    writer.add_text("run/data", "\n".join([_table(counts), "", *(f"- {printable(line)}" for line in lines)]))


def _table(values: Mapping[str, Any]) -> str:
    """Markdown, in which a bar would end a cell."""
    rows = [f"| {key} | {printable(str(value)).replace('|', chr(92) + '|')} |" for key, value in values.items()]
    return "\n".join(["| what | value |", "|---|---|", *rows])


def _plain(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float)) else printable(str(value))
