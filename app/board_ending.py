"""What TensorBoard gets when a training is over: pictures, precision-recall curves, settings beside results, texts.

write_ending(board.writer, settings, scores, measures, {"run/confusion_matrix": folder / "confusion_matrix.png"})
write_facts(board.writer, folder, scan)
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
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
from data.counting import counted

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
    """Add, as texts, on what the run of `folder` was trained and why, and what the audit said of the data."""
    environment = json.loads((folder / ENVIRONMENT).read_text(encoding="utf-8"))
    versions = ", ".join(f"{package} {version}" for package, version in environment["versions"].items())
    device = f"{environment['device']} ({environment['device_reason']})"
    writer.add_text("run/device", _listed([f"device: {device}", environment["platform"], versions]))
    severities = Counter(finding.severity for finding in scan.findings)
    reasons = Counter(reason for _, reason in scan.skipped).most_common(MOST_REASONS)
    lines = [
        f"{scan.source} ({scan.layout}): {len(scan.train)} training and {counted(len(scan.valid), 'validation image')} "
        f"of {len(scan.classes)} classes",
        f"audit: {counted(len(scan.skipped), 'file')} left out, {counted(severities['warning'], 'warning')}, "
        f"{counted(severities['note'], 'note')}",
        *(f"left out, {count}: {reason}" for reason, count in reasons),
        *scan.notices,
    ]
    writer.add_text("run/data", _listed(lines))


def _listed(lines: Iterable[str]) -> str:
    """Markdown."""
    return "\n".join(f"- {printable(line)}" for line in lines)


def _table(values: Mapping[str, Any]) -> str:
    """Markdown, in which a bar would end a cell."""
    rows = [f"| {key} | {printable(str(value)).replace('|', chr(92) + '|')} |" for key, value in values.items()]
    return "\n".join(["| setting | value |", "|---|---|", *rows])


def _plain(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float)) else printable(str(value))
