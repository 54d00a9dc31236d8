"""How many images a second does each way make ready for training, with no training?

python benchmarks/pipeline_speed.py FOLDER [--size 224] [--rounds 3]

FOLDER holds train/ and valid/. Ways, in turn, over all training images, shuffled, in batches of 32 normalised floats:

ours      data.loaders: the cache warm; random resized crops, flips and light
ours --aug fastai    the same cache, aug_transforms on the batch
fastai    ImageDataLoaders.from_folder with Resize, aug_transforms and Normalize, a worker process a core
torchvision    ImageFolder and a DataLoader: RandomResizedCrop, flip, ColorJitter, Normalize, a worker process a core

The median of the rounds counts. The cache is a folder of its own, filled before the clock runs; how long that took
is printed too.
"""

import argparse
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
from fastai.data.transforms import Normalize
from fastai.vision.augment import Resize, aug_transforms
from fastai.vision.data import ImageDataLoaders
from torchvision import transforms
from torchvision.datasets import ImageFolder

import data
from data.pixel_store import PixelStore
from data.pixels import Pixels

BATCH = 32
MEAN = STD = (0.5, 0.5, 0.5)
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def of_torchvision(folder: Path, size: int) -> Iterable:
    """The usual recipe of a PyTorch user."""
    steps = [
        transforms.RandomResizedCrop(size, scale=(0.5, 1.0)),
        transforms.RandomHorizontalFlip(),
        transforms.ColorJitter(brightness=0.2, contrast=0.2),
        transforms.ToTensor(),
        transforms.Normalize(MEAN, STD),
    ]
    images = ImageFolder(folder / "train", transforms.Compose(steps))
    return torch.utils.data.DataLoader(images, BATCH, shuffle=True, drop_last=True, num_workers=CORES)


def of_fastai(folder: Path, size: int) -> Iterable:
    """The usual recipe of a fastai user."""
    batch_transforms = [*aug_transforms(), Normalize.from_stats(MEAN, STD, cuda=False)]
    options = {"item_tfms": Resize(size), "batch_tfms": batch_transforms, "bs": BATCH, "num_workers": CORES}
    return ImageDataLoaders.from_folder(
        folder, train="train", valid="valid", device=torch.device("cpu"), **options
    ).train


def rate(loader: Iterable) -> float:
    """Images a second over one epoch."""
    started = time.perf_counter()
    count = sum(len(labels) for _, labels in loader)
    return count / (time.perf_counter() - started)


def main(argv: list[str]) -> int:
    """Print a row per way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as cache:
        pixels = Pixels(args.size, PixelStore(Path(cache)))
        scan = data.scan(args.folder)
        spec = SimpleNamespace(image_size=args.size, mean=MEAN, std=STD)
        started = time.perf_counter()
        for sample in scan.train:
            pixels.presized(sample.source)
        seconds, taken = time.perf_counter() - started, sum(path.stat().st_size for path in Path(cache).iterdir())
        print(f"{len(scan.train)} images at {args.size} px, {torch.get_num_threads()} torch threads, {CORES} cores")
        print(f"cache: filled in {seconds:.1f} s by one thread, at most {taken / 2**20:.0f} MB")

        def ours(aug: str) -> Iterable:
            return data.loaders(scan, spec, batch_size=BATCH, aug=aug, pixels=pixels).train

        ways: dict[str, Callable[[], Iterable]] = {
            "ours": lambda: ours("crop"),
            "ours --aug fastai": lambda: ours("fastai"),
            "fastai": lambda: of_fastai(args.folder, args.size),
            "torchvision": lambda: of_torchvision(args.folder, args.size),
        }
        loaders = {name: make() for name, make in ways.items()}
        rates: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(args.rounds):
            for name, loader in loaders.items():
                rates[name].append(rate(loader))
        pixels.store.close()
    slowest = statistics.median(rates["fastai"])
    for name, found in rates.items():
        middle = statistics.median(found)
        print(
            f"{name:<20}{middle:>8.0f} images/s ({min(found):.0f} to {max(found):.0f}), "
            f"{middle / slowest:.1f} times fastai's"
        )
    print(f"peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
