"""The pictures of an evaluation: a reliability diagram, the confusion matrix, and a sheet of the worst errors.

paths = write_plots(evaluation, Path("plots"))
"""

from pathlib import Path

from app.evaluation.evaluation_formats import WORST, Evaluation
from app.pictures.confusion import draw_confusion
from app.pictures.images import draw_images, thumbnail
from app.pictures.reliability import draw_reliability
from app.pictures.saving import save
from data import ImageError

RELIABILITY, CONFUSION, WORST_ERRORS = "reliability.png", "confusion_matrix.png", "worst_errors.png"


def write_plots(found: Evaluation, folder: Path, truncated: bool = False) -> list[Path]:
    """Write the pictures into `folder`, which is made; the sheet only where there are errors.

    Parameters
    ----------
    truncated
        As of `data.read_image`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = [save(draw_reliability(found.measures.calibration), folder / RELIABILITY)]
    paths.append(save(draw_confusion(found.measures.confusion, found.measures.classes), folder / CONFUSION))
    images, titles = [], []
    for index, entry in zip(found.scores.worst(WORST), found.worst(WORST)):
        try:
            images.append(thumbnail(found.scores.samples[index].source, truncated))
        except ImageError:  # the file has gone since
            continue
        taken = f"{entry['true']} taken for {entry['predicted']} ({entry['probability']:.2f})"
        titles.append(f"{taken}\n{Path(entry['file']).name}")
    if images:
        paths.append(save(draw_images(images, titles, [False] * len(images)), folder / WORST_ERRORS))
    return paths
