"""Training against the CPU, fine-tuning's counts, exceptions and Ctrl-C, checkpoints, export."""

import json
import os
import signal
import sys

import tiny
import torch
from fastai.callback.core import Callback
from fastai.callback.tracker import EarlyStoppingCallback, SaveModelCallback
from fastai.torch_core import trainable_params

import callbacks.xla
from callbacks.augment import DeviceAugment
from callbacks.best import KeepBest
from callbacks.finite import StopOnNonFinite
from callbacks.first_batch import FirstBatch
from callbacks.interrupt import Interruptible
from callbacks.tensorboard import TensorBoard
from callbacks.timing import EpochTimer
from callbacks.xla import XLA, XLAMetrics

RATE = 1e-2


class Interrupt(Callback):
    """Ctrl-C in the forward pass of the third batch of the second epoch."""

    def after_pred(self):
        if self.learn.training and (self.learn.epoch, self.learn.iter) == (1, 2):
            os.kill(os.getpid(), signal.SIGINT)


def raised(call):
    try:
        call()
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return None


def same_as_on_the_cpu():
    plain, moved = tiny.make(), tiny.make()
    plain.fit_one_cycle(2, RATE)
    was = [parameter.clone() for parameter in moved.model.parameters()]
    moved.fit_one_cycle(2, RATE, cbs=XLA())
    pairs = list(zip(tiny.losses(plain), tiny.losses(moved)))
    return {
        "steps": len(pairs),
        "difference": max(abs(a - b) / abs(a) for a, b in pairs),
        "unchanged": sum(map(torch.equal, was, moved.model.parameters())),
        "whole": tiny.whole(moved),
    }


def frozen_phase():
    learn = tiny.make()
    held = [parameter.clone() for parameter in learn.model.parameters()]  # with a graph, from before the freezing
    learn.freeze()
    was = {name: value.clone() for name, value in learn.model.state_dict().items()}
    learn.fit(1, RATE, cbs=XLA())
    assert len(held) == len(list(learn.model.parameters()))
    return [name for name, value in learn.model.state_dict().items() if torch.equal(value, was[name])]


def fine_tuned():
    learn = tiny.make()
    timer, metrics, best = EpochTimer(), XLAMetrics(), KeepBest()
    board = TensorBoard("board", every=None)
    learn.to_xla().add_cbs([timer, metrics, best, StopOnNonFinite(every=None), board])
    learn.fine_tune(3, RATE)
    board.close()
    best.restore()
    predicted, _ = learn.get_preds()
    learn.remove_cb(XLA)
    on_cpu, _ = learn.get_preds()
    return {
        "rows": [{name: row[name] for name in row if "/" in name} | {"phase": row["phase"]} for row in timer.rows],
        "late": metrics.late,
        "predictions": float((predicted - on_cpu).abs().max()),
        "whole": tiny.whole(learn),
    }


def first_batch():
    """Compilations of two epochs, without the first batch being kept, and with."""
    compiles, first = [], FirstBatch()
    for kept in ([], [first]):
        timer = EpochTimer()
        tiny.make().fit(2, RATE, cbs=[XLA(), timer, XLAMetrics(), DeviceAugment(), *kept])
        compiles.append([row["xla/compiles"] for row in timer.rows])
    images, labels = first.batch
    return {"compiles": compiles, "shape": list(images.shape), "labels": len(labels), "device": images.device.type}


def broken_data_set(for_good):
    learn = tiny.make(train=40, broken=40 + 21)  # in the second epoch
    if for_good:
        learn.to_xla()
    said = raised(lambda: learn.fit(2, RATE, cbs=[] if for_good else XLA()))
    return {"said": said, "whole": tiny.whole(learn), "epochs": len(learn.recorder.values)}


def interrupted(for_good):
    learn = tiny.make(train=40)
    if for_good:
        learn.to_xla()
    said = raised(lambda: learn.fit(2, RATE, cbs=[Interrupt()] if for_good else [XLA(), Interrupt()]))
    left = tiny.whole(learn)
    learn.remove_cb(XLA)
    learn.fit(1, RATE)  # an ordinary Learner
    return {"said": said, "whole": left, "trains": len(learn.recorder.losses)}


def stopped():
    learn = tiny.make(train=40)
    stop = Interruptible()
    with stop.caught():
        learn.fit(2, RATE, cbs=[XLA(), Interrupt(), stop])
    return {"losses": len(tiny.losses(learn)), "whole": tiny.whole(learn)}


def tracked():
    learn = tiny.make(train=40)
    learn.fit(2, RATE, cbs=[XLA(), SaveModelCallback(fname="best", with_opt=True), EarlyStoppingCallback(patience=5)])
    saved = torch.load("models/best.pth", weights_only=False)
    tensors = list(saved["model"].values()) + [state["grad_avg"] for state in saved["opt"]["state"]]
    return {"devices": sorted({tensor.device.type for tensor in tensors}), "whole": tiny.whole(learn)}


def exported():
    learn = tiny.make(train=40, splitter=trainable_params).to_xla()
    learn.fit(1, RATE)
    learn.export("model.pkl")
    predictions, _ = learn.get_preds()
    torch.save(torch.stack([image for image, _ in learn.dls.valid_ds.items]), "images.pt")
    return {"model": os.path.abspath("model.pkl"), "predictions": predictions.tolist()}


torch.set_num_threads(1)
assert callbacks.xla.start() == 1
print(
    json.dumps(
        {
            "same": same_as_on_the_cpu(),
            "frozen": frozen_phase(),
            "fine_tuned": fine_tuned(),
            "first": first_batch(),
            "broken": [broken_data_set(False), broken_data_set(True)],
            "interrupted": [interrupted(False), interrupted(True)],
            "stopped": stopped(),
            "tracked": tracked(),
            "exported": exported(),
        }
    ),
    file=sys.stdout,
)
