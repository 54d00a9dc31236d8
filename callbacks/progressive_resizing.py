"""Smaller images in the first epochs of a training, which cost less and teach nearly as much.

learn.fit(12, cbs=ProgressiveResizing([(1 / 4, 20 / 32), (2 / 3, 24 / 32)]))

Source: Howard, "Now anyone can train Imagenet in 18 minutes" (fast.ai, 2018); Tan and Le, "EfficientNetV2: Smaller
Models and Faster Training" (2021, arXiv 2104.00298), section 4.
"""

from collections.abc import Sequence
from numbers import Real

import torch
from fastai.callback.core import Callback
from torch.nn.functional import interpolate

SMALLEST = 16  # px of a side, below which nothing is made smaller
ROUNDING = 1e-9  # of a share of the epochs


class ProgressiveResizing(Callback):
    """Training images are made smaller, whole epochs long; validation's stay as they are.

    For networks that take images of any size. A compiler, XLA's too, makes graphs anew for every size.

    Parameters
    ----------
    stages
        Pairs of a share of the epochs and a share of a side: (1 / 4, 20 / 32) for images of 20 px of 32 in the first
        quarter of the epochs. The first within which an epoch ends holds; where none is left, images are whole.
        Both sides get the share, and are rounded; neither falls below 16 px, so that a narrow image becomes squarer.

    Raises
    ------
    ValueError
        A stage that is no such pair; a share that is not above 0 and at most 1; shares of epochs that do not grow.
    """

    # After XLA (-9) has brought the batch and fastai's MixUp (0); before CastToTensor (9) and our ChannelsLast (9).
    order, run_valid = 5, False

    def __init__(self, stages: Sequence[tuple[float, float]]):
        self.stages = list(stages)
        ended = 0.0
        for stage in self.stages:
            if not isinstance(stage, Sequence) or len(stage) != 2 or not all(_is_share(part) for part in stage):
                raise ValueError(
                    f"stage {stage!r}: expected two shares, of epochs and of a side, above 0 and at most 1"
                )
            if stage[0] <= ended:
                raise ValueError(f"stage {stage!r}: its share of epochs is not above {ended:g}, that of the one before")
            ended = stage[0]

    def before_batch(self):
        images = self.learn.xb[0]
        sides = [self.side(side, self.epoch, self.n_epoch) for side in images.shape[-2:]]
        if sides != list(images.shape[-2:]):
            small = interpolate(images.as_subclass(torch.Tensor), sides, mode="bilinear", antialias=True)
            self.learn.xb = (small, *self.learn.xb[1:])

    def side(self, whole: int, epoch: int, epochs: int) -> int:
        """Pixels that are left of `whole` in `epoch`, counted from 0, of so many."""
        ended = (epoch + 1) / epochs
        scale = next((scale for share, scale in self.stages if ended <= share + ROUNDING), 1.0)
        return min(whole, max(SMALLEST, round(whole * scale)))


def _is_share(value: object) -> bool:
    return isinstance(value, Real) and 0 < value <= 1
