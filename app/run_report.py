"""A run as one page that needs nothing else: ``report.html``, made of what lies in the run folder.

write_report(folder, scan, measures, found, pictures)
"""

import base64
import csv
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import yaml
from PIL import Image

from app.evaluation.accuracy_interval import CONFIDENCE, Interval
from app.evaluation.metrics import Measures
from app.evaluation.temperature import Temperature
from app.outputs import printable, written
from app.run_folder import ENVIRONMENT
from app.terminal import shell_word
from data import Scan
from data.counting import counted

REPORT = "report.html"
TEMPLATE = Path(__file__).with_suffix(".html")
COLUMNS = ("epoch", "phase", "train_loss", "valid_loss", "accuracy", "f1", "train_seconds", "valid_seconds")
MOST_REASONS, MOST_CONFUSED = 10, 10
BROAD = 1000  # px, from which on a picture is not readable at the width of a phone: it scrolls there
CAPTIONS = {
    "train_batch": "Training images, as the network got them",
    "val_pred": "Validation images, drawn by lot, each with the class that it was taken for and how surely",
    "worst_errors": "The errors with the largest losses",
}


def write_report(
    folder: Path, scan: Scan, measures: Measures, calibration: Temperature, pictures: Mapping[str, Path]
) -> Path:
    """Write the page; whatever comes from the user's files is escaped. `pictures` are PNG files by tag."""
    settings = yaml.safe_load((folder / "args.yaml").read_text(encoding="utf-8"))
    environment = json.loads((folder / ENVIRONMENT).read_text(encoding="utf-8"))
    shown = {Path(tag).name: _picture(path) for tag, path in pictures.items()}
    page = Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        title=_text(f"{settings['arch']}: {len(scan.classes)} classes"),
        subtitle=_text(f"{folder.name}, on {environment['device']} ({environment['device_reason']})"),
        figures=_figures(measures),
        data=_data(scan),
        course=shown.get("results", "") + _epochs(folder / "results.csv") + shown.get("train_batch", ""),
        classes=_classes(measures) + shown.get("confusion_matrix", ""),
        errors=_confused(measures) + shown.get("worst_errors", "") + shown.get("val_pred", ""),
        calibration=f"<p>{_text(calibration.sentence)}</p>" + shown.get("reliability", ""),
        commands="\n".join(map(_text, _commands(folder, settings))),
        settings=_pairs(settings) + _pairs(environment["versions"] | {"platform": environment["platform"]}),
    )
    with written(folder / REPORT) as partial:
        partial.write_text(page, encoding="utf-8")
    return folder / REPORT


def _text(value: Any) -> str:
    return escape(printable(str(value)))


def _picture(path: Path) -> str:
    content = base64.b64encode(path.read_bytes()).decode("ascii")
    with Image.open(path) as image:
        kind = "broad" if image.width > BROAD else "narrow"
    caption = _text(CAPTIONS.get(path.stem, ""))
    shown = f'<img class="{kind}" alt="{_text(path.stem.replace("_", " "))}" src="data:image/png;base64,{content}">'
    return f'<figure><div class="wide">{shown}</div><figcaption>{caption}</figcaption></figure>'


def _figures(measures: Measures) -> str:
    found = {
        "accuracy": f"{measures.accuracy:.4f}",
        f"{CONFIDENCE:.0%} interval": _bounds(measures.interval),
        "macro F1": f"{measures.macro.f1:.4f}",
        "log loss": f"{measures.log_loss:.4f}",
        "calibration error": f"{measures.calibration.error:.4f}",
        f"{CONFIDENCE:.0%} interval of it": _bounds(measures.calibration_interval),
        "validation images": measures.images,
    }
    return "".join(f"<div><b>{_text(value)}</b>{_text(name)}</div>" for name, value in found.items())


def _bounds(interval: Interval) -> str:
    return f"{interval.low:.3f} to {interval.high:.3f}"


def _data(scan: Scan) -> str:
    images = f"{len(scan.train)} training and {counted(len(scan.valid), 'validation image')}"
    counts = f"{images}, {counted(len(scan.skipped), 'file')} left out"
    reasons = Counter(reason for _, reason in scan.skipped).most_common(MOST_REASONS)
    notices = [f"left out, {count}: {reason}" for reason, count in reasons] + list(scan.notices)
    lines = "".join(f"<li>{_text(notice)}</li>" for notice in notices)
    return f"<p>{_text(scan.source)} ({_text(scan.layout)}): {counts}.</p>" + (f"<ul>{lines}</ul>" if lines else "")


def _epochs(path: Path) -> str:
    with path.open(newline="", encoding="utf-8") as stream:
        rows = [[_short(row[name]) for name in COLUMNS] for row in csv.DictReader(stream)]
    return _table([name.replace("_", " ") for name in COLUMNS], rows)


def _short(cell: str) -> str:
    return f"{float(cell):.4g}" if "." in cell else cell


def _classes(measures: Measures) -> str:
    entries = [*measures.per_class, measures.macro, measures.weighted]
    rows = [
        [entry.name, *(f"{value:.4f}" for value in (entry.precision, entry.recall, entry.f1)), entry.support]
        for entry in entries
    ]
    return _table(["class", "precision", "recall", "F1", "images"], rows, "numbers names")


def _confused(measures: Measures) -> str:
    if not measures.confused:
        return "<p>None.</p>"
    rows = [[f"{true} taken for {predicted}", count] for true, predicted, count in measures.confused[:MOST_CONFUSED]]
    return _table(["most often confused", "images"], rows, "numbers names")


def _table(header: Sequence[str], rows: Iterable[Sequence[Any]], kind: str = "numbers") -> str:
    head = "".join(f"<th>{_text(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table class="{kind}"><tr>{head}</tr>{body}</table></div>'


def _pairs(values: Mapping[str, Any]) -> str:
    rows = "".join(f"<tr><td>{_text(key)}</td><td>{_text(value)}</td></tr>" for key, value in values.items())
    return f"<table>{rows}</table>"


def _commands(folder: Path, settings: Mapping[str, Any]) -> list[str]:
    source = "" if settings["source"] is None else f" {shell_word(settings['source'])}"
    model = shell_word(folder / "model.pkl")
    lines = [f"python -m app.train --config {shell_word(folder / 'args.yaml')}"]
    if source:
        lines.append(f"python -m app.evaluate {model}{source}")
    return [*lines, f"python -m app.predict {model} IMAGE"]
