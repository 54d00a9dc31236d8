"""float32 and bf16: the element types of the convolutions that XLA gets, and the accuracy of a hard task."""

import json
import re

import tiny
import torch
from fastai.callback.core import Callback

import callbacks.xla
from callbacks.autocast import Autocast
from callbacks.xla import XLA

STEP = 0.1  # of brightness between classes: the noise of a whole image is half of it


class Convolutions(Callback):
    """The element types of the convolutions in the graph of the first loss, before it is cut."""

    def __init__(self):
        self.types = None

    def after_loss(self):
        if self.types is None:
            import torch_xla

            graph = torch_xla._XLAC._get_xla_tensors_hlo([self.learn.loss_grad.as_subclass(torch.Tensor)])
            self.types = sorted(set(re.findall(r"(\w+)\[[^\]]*\]\S* convolution\(", graph)))


def trained(cbs):
    learn, convolutions = tiny.make(train=480, valid=300, step=STEP), Convolutions()
    learn.fit_one_cycle(6, 3e-2, cbs=[XLA(), convolutions, *cbs])
    weights = sorted({str(parameter.dtype) for parameter in learn.model.parameters()})
    return {"convolutions": convolutions.types, "accuracy": learn.final_record[2], "weights": weights}


torch.set_num_threads(1)
callbacks.xla.start()
print(json.dumps({"float32": trained([]), "bf16": trained([Autocast("bf16")])}))
