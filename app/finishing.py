"""After the fit: the export, and what the exported model says of every validation image.

finish(learn, scan, settings, board, outcome, save)
"""

import csv
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from fastai.learner import Learner

from app import report
from app.board_ending import write_ending, write_facts
from app.board_model import drawn, write_embeddings, write_graph
from app.evaluation.evaluation_formats import save_summary
from app.evaluation.metrics import measure
from app.evaluation.scores import Scores, validation_scores
from app.evaluation.temperature import Temperature, calibrate
from app.fitting import Outcome
from app.outputs import written
from app.pictures.training_batch import denormalized
from app.progress import progress_bar
from app.run_pictures import write_run_pictures
from app.run_report import write_report
from callbacks.batch_progress import BatchProgress
from callbacks.memory_format import ChannelsLast
from callbacks.tensorboard import TensorBoard
from data import DataError, Scan
from data.counting import counted
from models.embeddings import noted
from models.temperature import last_layer

PREDICTIONS, EVALUATION = "predictions.csv", "evaluation.json"


def finish(
    learn: Learner,
    scan: Scan,
    settings: dict[str, Any],
    board: TensorBoard,
    outcome: Outcome,
    save: Callable[..., None],
) -> None:
    """Export by `save` what was learned, if anything; calibrate and describe it, unless the user has interrupted.

    What is only described is no reason to fail: a picture that cannot be written is warned of.
    """
    if outcome.best or outcome.steps:
        save(metrics=outcome.best)  # first of all: nothing that comes now can lose it
    if outcome.interrupted:
        return
    report.say(f"evaluation: the exported model, on {counted(len(scan.valid), 'validation image')}")
    try:
        _describe(learn, scan, settings, board, outcome, save)
    except (OSError, DataError) as error:
        report.warn(f"the model is exported, its evaluation is not complete: {error}")
    except KeyboardInterrupt:
        report.warn(f"the model is in {learn.path / 'model.pkl'}, its evaluation is not complete")
        raise


def _describe(
    learn: Learner,
    scan: Scan,
    settings: dict[str, Any],
    board: TensorBoard,
    outcome: Outcome,
    save: Callable[..., None],
) -> None:
    folder = learn.path
    wanted = drawn(len(scan.valid), settings["seed"])
    # Not on XLA: which images of a batch are drawn differs, and each such graph would be compiled.
    watched = nullcontext() if settings["device"] == "xla" else noted(learn.model, wanted)
    with last_layer(learn.model) as last, watched as seen, progress_bar("batches") as progress:
        callbacks = [*_device_callbacks(settings), BatchProgress(progress)]
        scores = validation_scores(learn, scan.valid, callbacks)
    found = calibrate(scores, settings["seed"])
    if not last.is_linear:
        found = Temperature(1.0, found.images, reason="the network does not end with a linear layer")
    report.say(f"calibration: {found.sentence}")
    if found.temperature != 1:
        scores = replace(scores, logits=scores.logits / found.temperature)
        save(metrics=outcome.best, temperature=found.temperature)
    write_predictions(folder / PREDICTIONS, scores)
    measures = measure(scores, settings["seed"])
    save_summary(measures, folder / EVALUATION, calibration=found.facts())
    pictures = write_run_pictures(learn, outcome, scores, measures, settings["seed"], scan.truncated)
    write_ending(board.writer, settings, scores, measures, pictures)
    write_report(folder, scan, measures, found, pictures)
    write_facts(board.writer, folder, scan)
    write_graph(board.writer, learn.model, settings["img_size"])
    if seen is not None:
        images = denormalized(seen.images, learn.dls)
        write_embeddings(board.writer, seen.features, images, scores, wanted)


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
