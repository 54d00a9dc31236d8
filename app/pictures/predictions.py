"""Validation images, drawn by lot, each with what the model says of it.

draw_predictions(scores, seed=42).savefig("val_pred.png")
"""

import random

from matplotlib.figure import Figure

from app.evaluation.scores import Scores
from app.pictures.images import draw_images, thumbnail
from data import ImageError

SHOWN = 20


def draw_predictions(scores: Scores, seed: int, truncated: bool = False) -> Figure | None:
    """Draw the same images for the same seed and data set; None where no file is there any more.

    Above each: the likeliest class with its probability, and the true one.

    Parameters
    ----------
    truncated
        As of `data.read_image`.
    """
    count = len(scores.samples)
    images, titles, right = [], [], []
    for index in sorted(random.Random(seed).sample(range(count), min(SHOWN, count))):
        try:
            images.append(thumbnail(scores.samples[index].source, truncated))
        except ImageError:
            continue
        said, true = scores.predicted[index].item(), scores.targets[index].item()
        probability = scores.probabilities[index, said].item()
        titles.append(f"{scores.classes[said]} ({probability:.2f})\ntrue: {scores.classes[true]}")
        right.append(said == true)
    return draw_images(images, titles, right) if images else None
