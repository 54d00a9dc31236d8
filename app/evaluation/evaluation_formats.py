"""The forms in which ``app.evaluate`` writes what it measured: a table for people, JSON and CSV for programs.

with output_stream(None) as stream:
    FORMATS["json"](evaluation, stream)
"""

import csv
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from app.evaluation.accuracy_interval import CONFIDENCE, Interval
from app.evaluation.calibration_error import BINS
from app.evaluation.metrics import TOP, ClassMeasures, Measures
from app.evaluation.scores import Scores
from app.outputs import printable, written
from app.terminal import columns, left
from data.counting import counted

PAIRS = 10  # confused pairs in the table; JSON has all of them
WORST = 20  # errors that are named in JSON, and drawn
WORST_IN_TABLE = 5
AVERAGES = ("macro average", "weighted average")


@dataclass(frozen=True)
class Evaluation:
    """What was measured, and ``about``: on what, in the words and values of JSON."""

    scores: Scores
    measures: Measures
    about: dict[str, Any] = field(default_factory=dict)

    def worst(self, count: int) -> list[dict[str, Any]]:
        """The errors with the largest losses."""
        scores = self.scores
        return [
            {
                "file": scores.name(index),
                "true": scores.classes[scores.targets[index]],
                "predicted": scores.classes[scores.predicted[index]],
                "probability": scores.probabilities[index].max().item(),
                "loss": scores.losses[index].item(),
            }
            for index in scores.worst(count)
        ]


def write_table(found: Evaluation, stream: TextIO) -> None:
    """A row per class and average, the single figures, and what is wrong most often and most surely."""
    measures = found.measures
    lines = [*_class_rows(measures), "", *_single_figures(measures)]
    if measures.confused:
        lines += ["", "most often confused"]
        lines += [f"  {pair.true} taken for {pair.predicted}: {pair.count}" for pair in measures.confused[:PAIRS]]
        lines += _more(len(measures.confused) - PAIRS)
    if worst := found.worst(WORST_IN_TABLE):
        lines += ["", "worst errors"]
        lines += [f"  {_error(entry)}" for entry in worst]
    stream.write("\n".join(map(printable, lines)) + "\n")


def write_json(found: Evaluation, stream: TextIO) -> None:
    """One object."""
    content = {**found.about, **found.measures.summary(), "worst": found.worst(WORST)}
    stream.write(_json(content))


def write_csv(found: Evaluation, stream: TextIO) -> None:
    """A row per class and average, then a row per single figure, with its value in the last column."""
    writer = csv.writer(stream)
    writer.writerow(["kind", "name", "precision", "recall", "f1", "support", "value"])
    measures = found.measures
    writer.writerows(["class", *entry, ""] for entry in measures.per_class)
    writer.writerows(["average", *entry, ""] for entry in (measures.macro, measures.weighted))
    figures = {
        "accuracy": measures.accuracy,
        "accuracy_low": measures.interval.low,
        "accuracy_high": measures.interval.high,
        f"top{TOP}_accuracy": measures.top5,
        "log_loss": measures.log_loss,
        "expected_calibration_error": measures.calibration.error,
        "calibration_low": measures.calibration_interval.low,
        "calibration_high": measures.calibration_interval.high,
    }
    writer.writerows(["figure", key, "", "", "", "", value] for key, value in figures.items() if value is not None)


FORMATS = {"table": write_table, "json": write_json, "csv": write_csv}


def save_summary(measures: Measures, path: Path, **more: Any) -> None:
    """Write `measures`, and `more` values, as JSON, whole or not at all."""
    with written(path) as partial:
        partial.write_text(_json(measures.summary() | more), encoding="utf-8")


def _json(content: dict[str, Any]) -> str:
    """A line for each entry, and for each row of a table: with an indent, a matrix would take one for each number.

    In ASCII, which holds any file's name.
    """
    lines = []
    for key, value in content.items():
        text = json.dumps(value)
        if isinstance(value, list) and value and isinstance(value[0], list | dict):
            text = "[\n    " + ",\n    ".join(map(json.dumps, value)) + "\n  ]"
        lines.append(f"  {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _class_rows(measures: Measures) -> Iterable[str]:
    averages = [entry._replace(name=name) for name, entry in zip(AVERAGES, (measures.macro, measures.weighted))]
    rows = [*measures.per_class, *averages]
    width = max(columns(printable(entry.name)) for entry in rows)
    yield f"{'class':<{width}}  precision  recall      F1  images"
    for entry in rows:
        yield _row(entry, width)


def _row(entry: ClassMeasures, width: int) -> str:
    name = printable(entry.name)
    return f"{left(name, width)}  {entry.precision:9.4f}  {entry.recall:.4f}  {entry.f1:.4f}  {entry.support:6}"


def _single_figures(measures: Measures) -> Iterable[str]:
    yield f"accuracy           {measures.accuracy:.4f}, {_between(measures.interval)}"
    if measures.top5 is not None:
        yield f"top-{TOP} accuracy     {measures.top5:.4f}"
    yield f"log loss           {measures.log_loss:.4f}"
    expected = f"{measures.calibration.error:.4f} (expected, {BINS} bins)"
    yield f"calibration error  {expected}, {_between(measures.calibration_interval)}"


def _between(interval: Interval) -> str:
    low, high, method = interval
    return f"{CONFIDENCE:.0%} between {low:.4f} and {high:.4f} ({method})"


def _error(entry: dict[str, Any]) -> str:
    taken = f"{entry['true']} taken for {entry['predicted']}"
    return f"{entry['file']}: {taken} with probability {entry['probability']:.4f}"


def _more(count: int) -> list[str]:
    return [f"  and {counted(count, 'more pair')} (--format json has all)"] if count > 0 else []
