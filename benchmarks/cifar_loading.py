"""CIFAR-10 as one tensor against image by image: the same network, the same pad-and-crop and flips, in turn.

python benchmarks/cifar_loading.py DATA_DIR [--arch resnet20_cifar] [--epochs 3] [--seeds 3] [--workers 2]

Image by image means torchvision's ``RandomCrop(32, padding=4)`` and ``RandomHorizontalFlip`` on each, in a fastai
loader. Prints both accuracies and epochs for each seed, and the images a second of the loaders by themselves.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fastai.callback.progress import ProgressCallback
from fastai.data.core import DataLoaders, Datasets
from fastai.data.transforms import Categorize, IntToFloatTensor, Normalize, ToTensor
from fastai.torch_core import set_seed
from fastai.vision.core import PILImage
from fasttransform import Transform
from torchvision import transforms

import data
import models
from app.allocator import keep_freed_memory
from callbacks.autocast import Autocast
from callbacks.memory_format import ChannelsLast
from data import Scan
from data.transforms import OpenImage, label_of


class PadAndCrop(Transform):
    """torchvision's, on the images of the training split alone."""

    split_idx = 0

    def __init__(self):
        self._ways = transforms.Compose([transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip()])

    def encodes(self, image: PILImage):
        """An image of the same size and kind."""
        return PILImage.create(self._ways(image))


def by_image(scan: Scan, spec: models.Spec, batch: int, workers: int) -> DataLoaders:
    """fastai loaders that augment every image by itself."""
    samples = scan.train + scan.valid
    labels = [label_of, Categorize(vocab=scan.classes, sort=False)]
    splits = [range(len(scan.train)), range(len(scan.train), len(samples))]
    sets = Datasets(samples, [[OpenImage(spec.image_size), PadAndCrop()], labels], splits=splits)
    after_batch = [IntToFloatTensor(), Normalize.from_stats(spec.mean, spec.std, cuda=False)]
    return sets.dataloaders(bs=batch, after_item=[ToTensor()], after_batch=after_batch, num_workers=workers)


def main() -> None:
    """Train both ways in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--arch", default="resnet20_cifar")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    keep_freed_memory()
    scan = data.scan("cifar10", data_dir=args.data_dir)
    spec = models.spec(args.arch, scan, pretrained=False)
    batch = spec.recipe.batch_size
    ways = {
        "one tensor": lambda: data.loaders(scan, spec, batch_size=batch),
        "image by image": lambda: by_image(scan, spec, batch, args.workers),
    }
    for name, make in ways.items():
        loader, started = make().train, time.perf_counter()
        images = sum(len(labels) for _, labels in loader)
        print(f"{name}: {images / (time.perf_counter() - started):.0f} images/s without a network", flush=True)
    reached = {name: [] for name in ways}
    for seed in range(args.seeds):
        for name, make in ways.items():
            accuracies, seconds = trained(make, spec, seed, args.epochs)
            reached[name].append(accuracies[-1])
            said = ", ".join(f"{accuracy:.4f}" for accuracy in accuracies)
            print(f"seed {seed}, {name}: {said}; {seconds / args.epochs:.1f} s an epoch", flush=True)
    for name, accuracies in reached.items():
        print(f"{name}: mean of the last epochs {statistics.mean(accuracies):.4f}")


def trained(make, spec: models.Spec, seed: int, epochs: int) -> tuple[list[float], float]:
    """The accuracy of each epoch, and the seconds of all, as `app.train` trains in bf16."""
    set_seed(seed, reproducible=True)
    with tempfile.TemporaryDirectory() as folder:
        learn = models.learner(make(), spec, path=Path(folder))
        learn.remove_cb(ProgressCallback)
        started = time.perf_counter()
        with learn.no_logging():
            learn.fit_one_cycle(epochs, spec.recipe.lr["adam"], cbs=[Autocast("bf16"), ChannelsLast()])
        return [row[2] for row in learn.recorder.values], time.perf_counter() - started


if __name__ == "__main__":
    main()
