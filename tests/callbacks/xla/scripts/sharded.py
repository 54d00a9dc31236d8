"""26 steps and two validations on as many devices as there are; how the batches lay on them."""

import json

import tiny
import torch
from fastai.callback.core import Callback

import callbacks.xla
from callbacks.xla import XLA


class Layouts(Callback):
    """What torch_xla says of each batch's images and labels: an empty text is one device's."""

    order = 56  # the graph is cut

    def __init__(self):
        self.seen = {}

    def after_batch(self):
        import torch_xla

        texts = [torch_xla._XLAC._get_xla_sharding_spec(tensor) for tensor in (self.learn.xb[0], self.learn.yb[0])]
        self.seen[str(len(self.learn.yb[0]))] = texts


torch.set_num_threads(1)
count = callbacks.xla.start()
learn, layouts = tiny.make(train=12 * tiny.BATCH + 3, valid=tiny.BATCH + 4), Layouts()
learn.fit(2, 1e-2, cbs=[XLA(), layouts])
values = [list(map(float, row)) for row in learn.recorder.values]
print(
    json.dumps(
        {
            "devices": count,
            "losses": tiny.losses(learn),
            "values": values,
            "layouts": layouts.seen,
            "whole": tiny.whole(learn),
        }
    )
)
