"""The pictures of a training in its run folder.

paths = write_run_pictures(folder, learn.epoch_timer.rows, scores, measures)
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from app.evaluation.evaluation_formats import Evaluation
from app.evaluation.evaluation_plots import write_plots
from app.evaluation.metrics import Measures
from app.evaluation.scores import Scores
from app.pictures.results import draw_results
from app.pictures.saving import save

RESULTS = "results.png"


def write_run_pictures(
    folder: Path, rows: Sequence[Mapping[str, Any]], scores: Scores, measures: Measures, truncated: bool = False
) -> dict[str, Path]:
    """Write ``results.png`` and the pictures of the evaluation; return each by its tag in TensorBoard.

    Parameters
    ----------
    truncated
        As of `data.read_image`.
    """
    paths = [save(draw_results(rows), folder / RESULTS)] if rows else []
    paths += write_plots(Evaluation(scores, measures), folder, truncated)
    return {f"run/{path.stem}": path for path in paths}
