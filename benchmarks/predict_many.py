"""How many photos a second: `app.predict`'s way with a bundle, against ``learn.get_preds`` of stock fastai.

python benchmarks/predict_many.py MODEL.pkl FOLDER [COUNT]

Both classify the first COUNT photos (1,000; repeated where the folder has fewer) in one process, once each per round,
taking turns; start-up and loading the model are left out on both sides. Beside the photos a second, the time of the
processor is said, which other work on the machine changes less; and what differs in the probabilities.
"""

import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
from fastai.learner import load_learner

import models
from app.reading import read_ahead
from data.listing import image_files

Way = Callable[[Path, list[Path]], Iterator[torch.Tensor]]

ROUNDS = 3
FLOAT32 = 64  # photos, few enough to be predicted in float32


def processor_seconds() -> float:
    """Of this process with all its threads, and of its workers that have ended."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


def ours(model: Path, files: list[Path]) -> Iterator[torch.Tensor]:
    """Probabilities, (N, classes) for each batch; the first `next` only loads."""
    predictor = models.load(model)
    yield torch.empty(0)
    size = predictor.expect(len(files))
    images = (image for _, image in read_ahead(((str(f), f) for f in files), predictor.prepare, predictor.image_size))
    while batch := list(islice(images, size)):
        yield predictor.probabilities(batch)


def stock(model: Path, files: list[Path]) -> Iterator[torch.Tensor]:
    """The same with stock fastai."""
    learn = load_learner(model)
    yield torch.empty(0)
    with learn.no_bar():
        yield learn.get_preds(dl=learn.dls.test_dl(files))[0]


def measured(way: Way, model: Path, files: list[Path]) -> tuple[float, float, torch.Tensor]:
    """Seconds, those of the processor, and probabilities (len(files), classes)."""
    batches = way(model, files)
    next(batches)
    started, processor = time.perf_counter(), processor_seconds()
    found = torch.cat(list(batches))
    return time.perf_counter() - started, processor_seconds() - processor, found


def main(argv: list[str]) -> int:
    """Print a row per round, the medians, and the differences."""
    if len(argv) not in (2, 3) or not Path(argv[1]).is_dir():
        print("usage: python benchmarks/predict_many.py MODEL.pkl FOLDER [COUNT]", file=sys.stderr)
        return 2
    warnings.simplefilter("ignore")
    model, count = Path(argv[0]), int(argv[2]) if len(argv) == 3 else 1000
    files = list(islice(cycle(image_files(Path(argv[1]))), count))
    spent: dict[str, list[tuple[float, float]]] = {"stock": [], "ours": []}
    found: dict[str, torch.Tensor] = {}
    for _ in range(ROUNDS):
        for name, way in (("stock", stock), ("ours", ours)):
            seconds, processor, found[name] = measured(way, model, files)
            spent[name].append((seconds, processor))
            print(
                f"{name}: {count / seconds:.1f} photos/s, {1000 * processor / count:.1f} ms of processor each",
                flush=True,
            )
    wall, processor = (
        median(row[column] for row in spent["stock"]) / median(row[column] for row in spent["ours"])
        for column in (0, 1)
    )
    print(f"times as fast: {wall:.2f}; by the processor's time {processor:.2f}; {torch.get_num_threads()} threads")
    same = (found["stock"].argmax(1) == found["ours"].argmax(1)).float().mean().item()
    difference = (found["stock"] - found["ours"]).abs().max().item()
    exact = (measured(ours, model, files[:FLOAT32])[2] - found["stock"][:FLOAT32]).abs().max().item()
    print(f"same class: {same:.2%}, greatest difference {difference:.1e}; of {FLOAT32} in float32: {exact:.1e}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
