"""A loaded model run over labelled images, in float32, while the next ones are decoded.

scores, unreadable = score(predictor, samples)
"""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import torch
from PIL import Image, ImageOps
from torch import Tensor

from app.evaluation.scores import Scores
from app.reading import read_ahead
from data import ImageError, Sample


def score(
    predictor: Any,
    samples: Sequence[Sample],
    *,
    batch_size: int | None = None,
    tta: bool = False,
    truncated: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Scores, list[ImageError]]:
    """What `predictor` says of `samples`, each of a class that it knows.

    Its figures are those of ``app.predict`` for one image at a time: the network runs as it is, in float32, however
    many images there are.

    Parameters
    ----------
    tta
        Average the probabilities of each image and of its mirror image (test-time augmentation, as of fastai's
        `Learner.tta`, but without chance). The scores' logits are then the logarithms of these.
    truncated
        As of `data.read_image`.
    progress
        Called as ``progress(done, total)``.

    Returns
    -------
    Scores, list of ImageError
        Of the images that could be read; and why the others could not.
    """
    batch_size = batch_size or predictor.expect(1)  # of one image alone: more might be run in bfloat16
    sources = ((sample, sample.source) for sample in samples)
    images = read_ahead(sources, predictor.prepare, predictor.image_size, truncated)
    kept: list[Sample] = []
    failures: list[ImageError] = []
    rows: list[Tensor] = []
    done = 0
    while batch := list(islice(images, batch_size)):
        good = [(sample, image) for sample, image in batch if not isinstance(image, ImageError)]
        failures += [image for _, image in batch if isinstance(image, ImageError)]
        if good:
            kept += [sample for sample, _ in good]
            rows.append(_logits(predictor, [image for _, image in good], tta))
        done += len(batch)
        if progress:
            progress(done, len(samples))
    if not kept:
        raise failures[0]
    places = {name: index for index, name in enumerate(predictor.classes)}
    targets = torch.tensor([places[sample.label] for sample in kept])
    return Scores(torch.cat(rows), targets, list(predictor.classes), kept), failures


def _logits(predictor: Any, images: list[Image.Image], tta: bool) -> Tensor:
    # A clone, since what a network gives in inference mode cannot be used everywhere else.
    logits = torch.as_tensor(predictor.logits(images)).float().clone()
    if not tta:
        return logits
    # What is prepared has the network's size, and mirrored it has so still.
    mirrored = torch.as_tensor(predictor.logits([ImageOps.mirror(image) for image in images])).float()
    both = torch.stack([logits.log_softmax(1), mirrored.log_softmax(1)])
    return both.logsumexp(0) - torch.tensor(2.0).log()  # the logarithm of the mean, without leaving logarithms
