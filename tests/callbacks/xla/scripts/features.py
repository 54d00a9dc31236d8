"""What a fastai user adds to a training, on XLA: each as its name, and what came of it."""

import json
from functools import partial

import tiny
import torch
from fastai.callback.core import Callback
from fastai.callback.fp16 import MixedPrecision
from fastai.callback.mixup import MixUp
from fastai.callback.training import GradientAccumulation, GradientClip
from fastai.metrics import F1Score
from fastai.optimizer import SGD, Lamb, OptimWrapper, RMSProp, ranger

import callbacks.xla
from callbacks.autocast import Autocast
from callbacks.fixed_norm import FixedBatchNorm
from callbacks.timing import EpochTimer
from callbacks.xla import XLA, XLAMetrics


def trained(cbs=(), train=43, **options):
    """Compilations of the second epoch, and whether every parameter has changed to a number."""
    learn = tiny.make(train=train, **options)
    was = [parameter.clone() for parameter in learn.model.parameters()]
    timer, metrics = EpochTimer(), XLAMetrics()
    learn.fit(2, slice(1e-3, 1e-2), cbs=[XLA(), timer, metrics, *cbs])
    changed = [
        bool(torch.isfinite(now).all()) and not torch.equal(now, then)
        for now, then in zip(learn.model.parameters(), was)
    ]
    return {
        "compiles": [row["xla/compiles"] for row in timer.rows][1:],
        "trained": all(changed),
        "whole": tiny.whole(learn),
    }


class Crop(Callback):
    """Another shape in the fifth step of the second epoch."""

    def before_batch(self):
        if self.learn.training and (self.learn.epoch, self.learn.iter) == (1, 4):
            self.learn.xb = (self.learn.xb[0][:, :, :-2],)


class Freeze(Callback):
    """Trains one parameter less from the fifth step of the second epoch on."""

    def before_batch(self):
        if self.learn.training and (self.learn.epoch, self.learn.iter) == (1, 4):
            next(self.learn.model.parameters()).requires_grad_(False)


def compiled_late(change):
    learn, said = tiny.make(), []
    timer, metrics = EpochTimer(), XLAMetrics(said.append)
    learn.fit(2, cbs=[XLA(), timer, metrics, change])
    compiles = timer.rows[-1]["xla/compiles"]
    return {"late": metrics.late, "said": said, "compiles": compiles}


def refused(cbs=(), **options):
    learn = tiny.make(**options)
    try:
        learn.fit(1, cbs=[XLA(), *cbs])
    except callbacks.xla.XLAError as error:
        return {"said": str(error).rpartition("\n\t")[2], "whole": tiny.whole(learn)}
    return None


def rate_finder():
    learn = tiny.make().to_xla()
    was = [parameter.clone() for parameter in learn.model.parameters()]
    valley = learn.lr_find(num_it=20, show_plot=False).valley
    same = all(map(torch.equal, was, learn.model.parameters()))
    return {"found": valley > 0, "same": same, "whole": tiny.whole(learn)}


def test_time_augmentation():
    learn = tiny.make().to_xla()
    predictions, _ = learn.tta(n=2)
    return {"shape": list(predictions.shape), "whole": tiny.whole(learn)}


torch.set_num_threads(1)
callbacks.xla.start()
torch_adam = partial(OptimWrapper, opt=torch.optim.AdamW)
print(
    json.dumps(
        {
            "trained": {
                "accumulation": trained([GradientAccumulation(16)]),
                "fixed norm": trained([FixedBatchNorm()]),
                "clip": trained([GradientClip(0.1)]),
                "mixup": trained([MixUp()]),
                "bf16": trained([Autocast("bf16")]),
                "f1": trained(metrics=F1Score(average="macro")),
                "sgd": trained(opt_func=partial(SGD, mom=0.9)),
                "rmsprop": trained(opt_func=RMSProp),
                # RAdam has another formula from the sixth step on
                "ranger": trained(opt_func=ranger, train=107),
                "torch": trained(opt_func=torch_adam),
            },
            "refused": {
                "MixedPrecision": refused([MixedPrecision()]),
                "Lamb": refused(opt_func=Lamb),
            },
            "late": compiled_late(Crop()),
            "frozen later": compiled_late(Freeze()),
            "rate finder": rate_finder(),
            "tta": test_time_augmentation(),
        }
    )
)
