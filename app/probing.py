"""Before the epochs: features of the frozen body, once, and the best linear head on them (`models.probe`).

probe(learn, settings)                      # the Learner's head is the solution; the log has a row for it

The first half of LP-FT (Kumar et al. 2022, arXiv 2202.10054): fine-tuning that starts from a converged head
does not first distort what the body knows.
"""

import random
import signal
import time
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from fastai.data.core import TfmdDL
from fastai.learner import Learner

from app import report
from app.errors import Terminated
from app.precision import inference_dtype
from app.progress import progress_bar
from callbacks.first_batch import MOST
from callbacks.timing import WaitedFor, synchronize
from models.features import QuickBody, features, ready
from models.learners import macro_f1
from models.linear_head import LinearHead
from models.probe import Probe, balanced, fit_probe
from models.quick_dtype import quick_dtype

EPOCH, PHASE = 0, "probe"  # in the rows: before the first epoch
MANY = 500  # images from which on a frozen graph saves more than it costs


def probe(learn: Learner, settings: dict[str, Any]) -> None:
    """Fit the head, write it into `learn`, and add a row for it to the Learner's EpochTimer.

    Raises
    ------
    ModelError
        The network has no linear layer at its end, or features that are no numbers.
    KeyboardInterrupt
        Ctrl-C, within the Learner's Interruptible, before there was a solution.
    """
    device = learn.dls.device
    learn.model.to(device)
    quick, dtype, reason = _way(device, len(learn.dls.train_ds) + len(learn.dls.valid_ds))
    started = _now(device)
    batches = WaitedFor(_batches(learn, learn.dls.train_ds, settings))
    with ready(learn.model, dtype):
        x, y = features(learn.model, batches, quick)
    x, y = x.clone(), y.clone()  # out of inference mode: autograd may keep them
    classes = LinearHead.of(learn.model).linear.out_features
    weights = None if settings["balance"] == "none" else balanced(y, classes)
    found = fit_probe(x, y, classes, weights=weights, seed=settings["seed"])
    train_seconds = _now(device) - started
    with ready(learn.model, dtype):
        valid_x, valid_y = features(learn.model, _batches(learn, learn.dls.valid_ds, settings), quick)
    found.write(learn.model)
    predicted = found(valid_x).argmax(1)
    report.say(
        f"probe: {x.shape[1]} features ({'float32' if dtype is None else 'bf16'}: {reason}), "
        f"penalty {found.strength:g} chosen on a fifth of train"
    )
    learn.epoch_timer.add(
        {
            "epoch": EPOCH,
            "phase": PHASE,
            "train_loss": _loss(found, x, y, weights),
            "valid_loss": _loss(found, valid_x, valid_y, weights),
            "accuracy": (predicted == valid_y).float().mean().item(),
            "f1": float(macro_f1()(predicted, valid_y)),
            "train_seconds": train_seconds,
            "valid_seconds": _now(device) - started - train_seconds,
            "data_wait": batches.seconds,
            "images_per_second": len(x) / train_seconds,
            "warmup": False,
        }
    )


def _way(device: torch.device, images: int) -> tuple[QuickBody | None, torch.dtype | None, str]:
    """How the body is run: a frozen graph or not, autocast's dtype or None for float32, and why that one."""
    if device.type == "cpu" and images >= MANY:
        dtype = quick_dtype()
        return QuickBody(dtype), dtype if dtype == torch.bfloat16 else None, "what this CPU is fastest in"
    return None, *inference_dtype(device)


def some_of_train(learn: Learner, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Training images, drawn by `seed`, as the probe sees them: float32 (n, 3, H, W), and labels, int64 (n,).

    They are `callbacks.first_batch.MOST` at most, on the CPU.
    """
    items = learn.dls.train_ds.items
    drawn = random.Random(seed).sample(range(len(items)), min(MOST, len(items)))
    loader = learn.dls.test_dl([items[index] for index in drawn], with_labels=True, bs=len(drawn))
    images, labels = (part.as_subclass(torch.Tensor) for part in loader.one_batch())
    return images.cpu(), labels.cpu()


def _batches(learn: Learner, dataset: Any, settings: dict[str, Any]) -> Iterator[tuple]:
    """The images of `dataset` as validation sees them, in order, until Ctrl-C."""
    loader: TfmdDL = learn.dls.test_dl(dataset.items, with_labels=True, bs=settings["batch_size"])
    with progress_bar("batches") as progress:
        for done, batch in enumerate(loader, start=1):
            if learn.interruptible.requested:
                raise Terminated if learn.interruptible.requested == signal.SIGTERM else KeyboardInterrupt
            yield batch
            if progress is not None:
                progress(done, len(loader))


def _loss(found: Probe, x: torch.Tensor, y: torch.Tensor, weights: torch.Tensor | None) -> float:
    return F.cross_entropy(found(x), y, weights).item()


def _now(device: torch.device) -> float:
    synchronize(device)
    return time.perf_counter()
