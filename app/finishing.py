"""After the fit: the export, and what the exported model says of every validation image.

finish(learn, scan, settings, folder, outcome, save)
"""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastai.learner import Learner

from app.evaluation.evaluation_formats import save_summary
from app.evaluation.metrics import measure
from app.evaluation.scores import Scores, validation_scores
from app.fitting import Outcome
from app.outputs import written
from callbacks.memory_format import ChannelsLast
from data import Scan

PREDICTIONS, EVALUATION = "predictions.csv", "evaluation.json"


def finish(
    learn: Learner,
    scan: Scan,
    settings: dict[str, Any],
    folder: Path,
    outcome: Outcome,
    save: Callable[..., None],
) -> None:
    """Export by `save` what was learned, if anything; describe it, unless the user has interrupted the run."""
    if outcome.best or outcome.steps:
        save(metrics=outcome.best)
    if outcome.interrupted:
        return
    scores = validation_scores(learn, scan.valid, _device_callbacks(settings))
    write_predictions(folder / PREDICTIONS, scores)
    save_summary(measure(scores, settings["seed"]), folder / EVALUATION)


def write_predictions(path: Path, scores: Scores) -> None:
    """One row per validation image: its file, the true class, the likeliest and how likely each of the two is."""
    with (
        written(path) as partial,
        # surrogateescape: a file's name need not be valid Unicode.
        partial.open("w", newline="", encoding="utf-8", errors="surrogateescape") as stream,
    ):
        rows = csv.writer(stream)
        rows.writerow(["image", "label", "predicted", "probability", "probability_of_label", "loss"])
        for index, (true, said) in enumerate(zip(scores.targets.tolist(), scores.predicted.tolist())):
            probabilities = scores.probabilities[index]
            figures = (probabilities[said], probabilities[true], scores.losses[index])
            rows.writerow(
                [scores.name(index), scores.classes[true], scores.classes[said], *(f"{value:.6g}" for value in figures)]
            )


def _device_callbacks(settings: dict[str, Any]) -> list[Any]:
    if settings["device"] != "xla":
        return [ChannelsLast()]
    from callbacks.xla import XLA

    return [XLA()]
