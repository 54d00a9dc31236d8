"""fine_tune(3) of a network of ours, augmented both ways: what each epoch compiled and transferred.

python architectures.py NAME PIXELS
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from fastai.metrics import accuracy, error_rate
from fastai.torch_core import set_seed
from PIL import Image

import callbacks.xla
import data
import models
from callbacks.augment import DeviceAugment
from callbacks.best import KeepBest
from callbacks.finite import StopOnNonFinite
from callbacks.tensorboard import TensorBoard
from callbacks.timing import EpochTimer
from callbacks.xla import XLA, XLAMetrics

COUNTS, BATCH = {"train": 13, "valid": 5}, 4  # of each class: the last batch of validation is partial


def photos(folder, side):
    rng = np.random.default_rng(0)
    for split, count in COUNTS.items():
        for number, label in enumerate(("dark", "light")):
            (folder / split / label).mkdir(parents=True)
            for index in range(count):
                pixels = rng.normal(70 + 110 * number, 40, (side, side, 3)).clip(0, 255).astype(np.uint8)
                Image.fromarray(pixels).save(folder / split / label / f"{index}.png")
    return folder


def fine_tuned(scan, spec, way):
    set_seed(0)
    loaders = data.loaders(
        scan, spec, batch_size=BATCH, workers=2 if way == "host" else 0, aug_mult=1.0 if way == "host" else 0
    )
    learn = models.learner(loaders, spec)
    learn.metrics = [accuracy, error_rate]
    learn.remove_cb(learn.progress)
    learn.logger = lambda row: None
    board = TensorBoard(way, every=None)
    timer, metrics = EpochTimer(), XLAMetrics()
    learn.add_cbs([timer, metrics, XLA(), KeepBest(), StopOnNonFinite(every=None), board])
    if way == "device":
        learn.add_cb(DeviceAugment())
    was = [parameter.clone() for parameter in learn.model.parameters()]
    learn.fine_tune(3)
    board.close()
    return {
        "rows": [{"phase": row["phase"]} | {name: row[name] for name in row if "/" in name} for row in timer.rows],
        "late": metrics.late,
        "seconds": [[row["train_seconds"], row["valid_seconds"]] for row in timer.rows],
        "unchanged": sum(map(torch.equal, was, learn.model.parameters())),
    }


torch.set_num_threads(1)
callbacks.xla.start()
name, side = sys.argv[1], int(sys.argv[2])
scan = data.scan(str(photos(Path("photos").resolve(), side)))
spec = models.spec(name, scan, image_size=side, pretrained=name == "tf_efficientnet_lite0")
print(json.dumps({way: fine_tuned(scan, spec, way) for way in ("host", "device")}))
