"""The pictures of a training in its run folder.

paths = write_run_pictures(learn, outcome, scores, measures, seed=42)
"""

from pathlib import Path

from fastai.learner import Learner

from app.evaluation.evaluation_formats import Evaluation
from app.evaluation.evaluation_plots import write_plots
from app.evaluation.metrics import Measures
from app.evaluation.scores import Scores
from app.fitting import Outcome
from app.pictures.predictions import draw_predictions
from app.pictures.results import draw_results
from app.pictures.saving import save
from app.pictures.training_batch import denormalized, draw_batch
from app.probing import PHASE, some_of_train

RESULTS, TRAIN_BATCH, VAL_PRED = "results.png", "train_batch.png", "val_pred.png"


def write_run_pictures(
    learn: Learner, outcome: Outcome, scores: Scores, measures: Measures, seed: int, truncated: bool = False
) -> dict[str, Path]:
    """Write the course, a training batch, a sample of validation and the pictures of the evaluation.

    Return each by its tag in TensorBoard. After a probe alone, training images are drawn as the probe saw them.

    Parameters
    ----------
    seed
        By which samples are drawn.
    truncated
        As of `data.read_image`.
    """
    folder, paths = learn.path, []
    if outcome.rows:
        paths.append(save(draw_results(outcome.rows), folder / RESULTS))
    batch = outcome.batch
    if batch is None and [row["phase"] for row in outcome.rows] == [PHASE]:
        batch = some_of_train(learn, seed)
    if batch is not None:
        images, labels = batch
        paths.append(save(draw_batch(denormalized(images, learn.dls), labels, scores.classes), folder / TRAIN_BATCH))
    elif (folder / TRAIN_BATCH).is_file():  # nothing was trained since the run was resumed
        paths.append(folder / TRAIN_BATCH)
    if (sample := draw_predictions(scores, seed, truncated)) is not None:
        paths.append(save(sample, folder / VAL_PRED))
    paths += write_plots(Evaluation(scores, measures), folder, truncated)
    return {f"run/{path.stem}": path for path in paths}
