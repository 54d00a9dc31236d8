"""Does a step of a training take longer than the bare model's on tensors that are there?

python benchmarks/step_time.py FOLDER [--arch tf_efficientnet_lite0] [--batch 32] [--steps 8] [--rounds 3] [--frozen]

In turn, in one process: an epoch of the Learner as app.train runs it (loaders and callbacks), and as many steps
of the same network and optimizer on one batch that stays in memory. The Learner's first epoch, which warms up, does not
count; the medians of the others are compared. Precision and memory format are --amp and --memory-format.
"""

import argparse
import resource
import statistics
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
from fastai.callback.progress import ProgressCallback
from torch import nn

import data
import models
from app.trial import FORMATS
from callbacks.autocast import DTYPES, Autocast
from callbacks.finite import StopOnNonFinite
from callbacks.memory_format import ChannelsLast
from callbacks.timing import EpochTimer
from data.normalize import lay_out
from data.pixel_store import PixelStore
from data.pixels import Pixels


def bare_seconds(learn, steps: int, args: argparse.Namespace) -> float:
    """Seconds of so many steps of the Learner's network on one batch."""
    batch, labels = learn.dls.train.one_batch()
    images = batch.as_subclass(torch.Tensor).contiguous(memory_format=FORMATS[args.memory_format])
    labels, model = labels.as_subclass(torch.Tensor), learn.model.to(memory_format=FORMATS[args.memory_format])
    model.train()
    started = time.perf_counter()
    for _ in range(steps):
        with torch.autocast("cpu", dtype=DTYPES[args.amp]) if args.amp in DTYPES else nullcontext():
            logits = model(images)
        nn.functional.cross_entropy(logits.float(), labels).backward()
        learn.opt.step()
        learn.opt.zero_grad()
    seconds = time.perf_counter() - started
    model.to(memory_format=torch.contiguous_format)
    return seconds


def main(argv: list[str]) -> int:
    """Print a row per round, and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--arch", default="tf_efficientnet_lite0")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--frozen", action="store_true")
    parser.add_argument("--amp", choices=("off", "bf16"), default="off")
    parser.add_argument("--memory-format", choices=tuple(FORMATS), default="channels_last")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        store = PixelStore(Path(folder))
        scan = data.scan(args.folder, limit=args.batch * args.steps)
        spec = models.spec(args.arch, scan)
        pixels = Pixels(spec.image_size, store)
        loaders = data.loaders(scan, spec, batch_size=args.batch, pixels=pixels)
        lay_out(loaders, args.memory_format)
        learn = models.learner(loaders, spec, path=Path(folder))
        learn.freeze() if args.frozen else learn.unfreeze()
        learn.remove_cb(ProgressCallback)
        callbacks = [EpochTimer(), StopOnNonFinite()]
        callbacks += [ChannelsLast()] if args.memory_format == "channels_last" else []
        callbacks += [Autocast(args.amp)] if args.amp in DTYPES else []
        learn.add_cbs(callbacks)
        learn.dls.valid = learn.dls.valid.new(n=args.batch)
        rows = learn.epoch_timer.rows
        bare: list[float] = []
        with learn.no_logging():
            learn.fit(1, 1e-5)
            steps = len(learn.dls.train)
            for _ in range(args.rounds):
                bare.append(bare_seconds(learn, steps, args))
                learn.fit(1, 1e-5, reset_opt=False)
                row = rows[-1]
                ours, waited = row["train_seconds"], row["data_wait"]
                print(f"ms a step: bare {1e3 * bare[-1] / steps:.0f}, Learner {1e3 * ours / steps:.0f}", end=", ")
                print(f"{waited / ours:.1%} of it waiting for data")
        store.close()
    taken = [row["train_seconds"] for row in rows[1:]]
    ratio = statistics.median(taken) / statistics.median(bare)
    waited = statistics.median(row["data_wait"] / row["train_seconds"] for row in rows[1:])
    state = "frozen" if args.frozen else "whole"
    print(
        f"{args.arch} ({state}), batch {args.batch}, {args.amp} {args.memory_format}, {torch.get_num_threads()} threads"
    )
    print(f"step time {ratio:.3f} of the bare model's, data_wait {waited:.1%} of the epoch")
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
