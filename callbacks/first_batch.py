"""The first images that a network was trained on, as it got them.

first = FirstBatch()
learn.fine_tune(3, cbs=first)
images, labels = first.batch
"""

import torch
from fastai.callback.core import Callback

from callbacks.host import to_host

MOST = 16


class FirstBatch(Callback):
    """Keeps the beginning of the first training batch, after all that augments it; afterwards it costs nothing.

    Attributes
    ----------
    batch : tuple[Tensor, Tensor] or None
        Up to `MOST` images as the model got them, and their labels, on the CPU; None before the first step.
    """

    # After XLA has run a step (55), and its images are there: asked for earlier, they would be a graph of their own.
    order, run_valid = 56, False

    def __init__(self):
        self.batch: tuple[torch.Tensor, torch.Tensor] | None = None

    def before_fit(self):
        self.run = not hasattr(self.learn, "lr_finder")

    def after_batch(self):
        if self.batch is None:
            parts = (self.learn.xb[0], self.learn.yb[0])
            self.batch = tuple(to_host([part[:MOST].as_subclass(torch.Tensor) for part in parts]))
