"""How many photos a second: `app.predict`'s way with a bundle, against ``learn.get_preds`` of stock fastai.

python benchmarks/predict_many.py MODEL.pkl FOLDER [COUNT]

Both classify the first COUNT photos (1,000; repeated where the folder has fewer) in one process, once each per round,
taking turns; start-up and loading the model are left out on both sides. What differs in the probabilities is said: in
float32, and as many photos are classified.
"""

import sys
import time
import warnings
from itertools import cycle, islice
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
from fastai.learner import load_learner

import models
from app.reading import read_ahead
from data.folder import image_files

ROUNDS = 3
FLOAT32 = 64  # photos, few enough to be predicted in float32


def ours(model: Path, files: list[Path]) -> tuple[float, torch.Tensor]:
    """Seconds, and probabilities (len(files), classes)."""
    predictor = models.load(model)
    started = time.perf_counter()
    size = predictor.expect(len(files))
    images = (image for _, image in read_ahead(((str(f), f) for f in files), predictor.prepare, predictor.image_size))
    rows = []
    while batch := list(islice(images, size)):
        rows.append(predictor.probabilities(batch))
    return time.perf_counter() - started, torch.cat(rows)


def stock(model: Path, files: list[Path]) -> tuple[float, torch.Tensor]:
    """The same with stock fastai."""
    learn = load_learner(model)
    started = time.perf_counter()
    with learn.no_bar():
        found, _ = learn.get_preds(dl=learn.dls.test_dl(files))
    return time.perf_counter() - started, found


def main(argv: list[str]) -> int:
    """Print a row per round, the medians, and the differences."""
    if len(argv) not in (2, 3) or not Path(argv[1]).is_dir():
        print("usage: python benchmarks/predict_many.py MODEL.pkl FOLDER [COUNT]", file=sys.stderr)
        return 2
    warnings.simplefilter("ignore")
    model, count = Path(argv[0]), int(argv[2]) if len(argv) == 3 else 1000
    files = list(islice(cycle(image_files(Path(argv[1]))), count))
    rates: dict[str, list[float]] = {"stock": [], "ours": []}
    found: dict[str, torch.Tensor] = {}
    for _ in range(ROUNDS):
        for name, way in (("stock", stock), ("ours", ours)):
            seconds, found[name] = way(model, files)
            rates[name].append(count / seconds)
        print(f"stock {rates['stock'][-1]:.1f}, ours {rates['ours'][-1]:.1f} photos/s", flush=True)
    same = (found["stock"].argmax(1) == found["ours"].argmax(1)).float().mean().item()
    difference = (found["stock"] - found["ours"]).abs().max().item()
    exact = (ours(model, files[:FLOAT32])[1] - found["stock"][:FLOAT32]).abs().max().item()
    medians = {name: median(values) for name, values in rates.items()}
    print(
        f"median: stock {medians['stock']:.1f}, ours {medians['ours']:.1f} photos/s; {torch.get_num_threads()} threads"
    )
    print(f"ratio: {medians['ours'] / medians['stock']:.2f}")
    print(f"same class: {same:.2%}, greatest difference {difference:.1e}; of {FLOAT32} in float32: {exact:.1e}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
