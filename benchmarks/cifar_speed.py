"""CIFAR-10 in the same minutes: `app.train --recipe speed` and a script of stock fastai; and the speed of its steps.

python benchmarks/cifar_speed.py DATA_DIR [--stock-epochs N] [--seed N] [-o PICTURE.png]

Stock is an xresnet18 on images of 32 px with pad-and-crop and flips, `fit_one_cycle`, batches of 128: what a notebook
has. Between the two: steps of the bare network on a batch that stays in memory, and a product of large matrices, both
in the precision that the recipe took (bf16, or float32 where that is faster); the recipe's epochs, which were timed
before, are set against these.
"""

import argparse
import csv
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import matplotlib
import torch
import yaml
from time_to_accuracy import PROJECT, curve
from torch import nn

from app.allocator import keep_freed_memory
from callbacks.autocast import DTYPES
from callbacks.progressive_resizing import ProgressiveResizing
from models.airbench import AIRBENCH
from models.airbench_training import RESIZING

STOCK = """
import sys
from fastai.vision.all import *
from data.cifar10 import load_cifar10
set_seed(int(sys.argv[3]))
cifar = load_cifar10(Path(sys.argv[1]))
images = [*cifar.train_images, *cifar.valid_images]
labels = [*cifar.train_labels, *cifar.valid_labels]
sets = Datasets(range(len(images)), [[lambda i: PILImage.create(images[i])], [lambda i: int(labels[i]), Categorize()]],
                splits=[range(50_000), range(50_000, 60_000)])
dls = sets.dataloaders(bs=128, after_item=[ToTensor()], after_batch=[IntToFloatTensor(),
    *aug_transforms(size=32, max_rotate=0, max_zoom=1, max_warp=0, max_lighting=0, xtra_tfms=[RandomCrop(32)]),
    Normalize.from_stats(*cifar_stats, cuda=False)], num_workers=2)
learn = Learner(dls, xresnet18(n_out=10), metrics=accuracy)
learn.remove_cb(ProgressCallback)
learn.logger = lambda row: print("accuracy", row[3], flush=True)
learn.fit_one_cycle(int(sys.argv[2]), 3e-3)
"""
MULTIPLY_ADDS = 118_000_000  # of a forward of airbench94_cifar at SIDE px, an image; a backward has twice as many
SIDE = 32  # of CIFAR-10's images
BATCH, ROUNDS = 2000, 6
OURS, XRESNET = "--recipe speed", "stock fastai, xresnet18"


def main() -> None:
    """Print both curves, draw them, and print the rates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--stock-epochs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, default=Path("cifar_speed.png"))
    args = parser.parse_args()
    folder, seed = str(args.data_dir.resolve()), str(args.seed)
    with tempfile.TemporaryDirectory() as scratch:
        ours = [sys.executable, "-m", "app.train", "cifar10", "--data-dir", folder, "--recipe", "speed"]
        ours += ["--seed", seed, "--output", f"{scratch}/runs", "--export", f"{scratch}/model.pkl"]
        stock = [sys.executable, "-W", "ignore", "-c", STOCK, folder, str(args.stock_epochs), seed]
        curves = {OURS: told(OURS, curve(ours, r"\s*\d+\s+\w+\s+\S+\s+\S+\s+(0\.\d+|1\.0+)\s", scratch))}
        compare(next(Path(scratch, "runs").iterdir()))
        print(f"{OURS}, with the mirror image averaged: {evaluated(f'{scratch}/model.pkl', folder):.4f}", flush=True)
        curves[XRESNET] = told(XRESNET, curve(stock, r"accuracy (\S+)", scratch))
    draw(curves, args.output)


def told(name: str, points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Print a curve at once: the whole takes long."""
    print(f"{name}:", ", ".join(f"{accuracy:.4f} after {seconds:.0f} s" for seconds, accuracy in points), flush=True)
    return points


def compare(run: Path) -> None:
    """Print the median of the run's images a second, for each size of the images, beside the bare network's; and the
    largest's beside the processor's."""
    keep_freed_memory()
    with (run / "results.csv").open() as file:
        rates = [float(row["images_per_second"]) for row in csv.DictReader(file)]
    resizing = ProgressiveResizing(RESIZING)
    sides = [resizing.side(SIDE, epoch, len(rates)) for epoch in range(len(rates))]
    dtype = DTYPES.get(yaml.safe_load((run / "args.yaml").read_text())["amp"], torch.float32)
    for side in sorted(set(sides[1:])):  # the first epoch's time has what is set up
        trained = statistics.median(rate for rate, of in zip(rates[1:], sides[1:]) if of == side)
        bare = bare_rate(dtype, side)
        print(
            f"{side} px: training {trained:.0f} images/s in {dtype}, the bare network {bare:.0f}: {trained / bare:.0%}"
        )
    flops, peak = 3 * 2 * MULTIPLY_ADDS * trained, product_rate(dtype)
    print(f"that is {flops / 1e9:.0f} GFLOP/s, {flops / peak:.0%} of the {peak / 1e9:.0f} of a product of matrices")


def evaluated(model: str, folder: str) -> float:
    """Accuracy of a model on the test images, each beside its mirror image."""
    command = [
        sys.executable,
        "-m",
        "app.evaluate",
        model,
        "cifar10",
        "--data-dir",
        folder,
        "--tta",
        "--format",
        "json",
    ]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["accuracy"]


def draw(curves: dict[str, list[tuple[float, float]]], path: Path) -> None:
    """Accuracy over the time since each command began."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    for name, points in curves.items():
        axes.plot([seconds / 60 for seconds, _ in points], [accuracy for _, accuracy in points], marker="o", label=name)
    axes.set(xlabel="minutes since the command began", ylabel="accuracy on CIFAR-10's test images", ylim=(None, 1))
    axes.axhline(0.94, linewidth=0.8, linestyle="--", color="grey")
    axes.legend()
    figure.savefig(path, dpi=120)
    print(f"picture: {path}")


def bare_rate(dtype: torch.dtype, side: int) -> float:
    """Images a second, of `side` px, of forward and backward of the network, as it is trained for most of the time."""
    network = AIRBENCH["airbench94_cifar"](10).to(memory_format=torch.channels_last)
    network.whiten.bias.requires_grad_(False)
    images = torch.randn(BATCH, 3, side, side).contiguous(memory_format=torch.channels_last)
    labels = torch.randint(0, 10, (BATCH,))

    def step() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.bfloat16):
            logits = network(images)
        nn.functional.cross_entropy(logits.float(), labels, label_smoothing=0.2).backward()

    return BATCH / fastest(step)


def product_rate(dtype: torch.dtype) -> float:
    """Floating-point operations a second of a product of two large matrices."""
    side = 4096
    one, other = (torch.randn(side, side, dtype=dtype) for _ in range(2))
    return 2 * side**3 / fastest(lambda: one @ other)


def fastest(function) -> float:
    """Seconds of the fastest of some rounds."""
    seconds = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


if __name__ == "__main__":
    main()
