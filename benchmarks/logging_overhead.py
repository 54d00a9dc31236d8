"""What TensorBoard costs a training: the same epochs with and without our callback, in turn, in one process.

python benchmarks/logging_overhead.py [SOURCE] [--arch resnet20_cifar] [--epochs 2] [--rounds 3] [--batch 32]

Without SOURCE it is the sample data set. Wall-clock seconds and, less noisy beside other work, those of the process on
the CPU; medians over the rounds, and what is written at the end of a training apart. The bound is the larger of 1% and
2 seconds a run; beyond it, the exit code is 1.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
from fastai.callback.progress import ProgressCallback
from fastai.learner import Learner

import data
import models
from app.board_model import drawn, write_embeddings, write_graph
from app.evaluation.scores import validation_scores
from app.pictures.training_batch import denormalized
from callbacks.tensorboard import TensorBoard
from callbacks.timing import EpochTimer
from data.pixel_store import PixelStore
from data.pixels import Pixels
from models.embeddings import noted

SHARE, SECONDS = 0.01, 2.0  # the bound


class Spent(NamedTuple):
    """Seconds, by the clock and of this process on the CPU."""

    wall: float
    cpu: float


def spent(work: Callable[[], object]) -> Spent:
    """Do it, and see what it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Spent(time.perf_counter() - wall, time.process_time() - cpu)


def epochs(learn: Learner, count: int, folder: Path | None) -> None:
    """Train `count` epochs, and log them where there is a folder."""
    board = [] if folder is None else [TensorBoard(folder)]
    learn.fit(count, 1e-5, cbs=[EpochTimer(), *board])
    for callback in board:
        callback.close()


def evaluation(learn: Learner, samples: list[data.Sample], size: int, folder: Path | None) -> None:
    """What follows a training: validation images are evaluated; graph and embeddings are written where logged."""
    if folder is None:
        validation_scores(learn, samples)
        return
    board, wanted = TensorBoard(folder), drawn(len(samples), seed=42)
    with noted(learn.model, wanted) as seen:
        scores = validation_scores(learn, samples)
    write_graph(board.writer, learn.model, size)
    write_embeddings(board.writer, seen.features, denormalized(seen.images, learn.dls), scores, wanted)
    board.close()


def main(argv: list[str]) -> int:
    """Print a line per round, and both sums against the bound."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", nargs="?", type=Path, default=Path(data.__file__).parent)
    parser.add_argument("--arch", default="resnet20_cifar")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=32)
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        scan = data.scan(args.source)
        spec = models.spec(args.arch, scan, pretrained=False)
        store = PixelStore(Path(folder) / "pixels")
        loaders = data.loaders(scan, spec, batch_size=args.batch, pixels=Pixels(spec.image_size, store))
        learn = models.learner(loaders, spec, path=Path(folder))
        learn.remove_cb(ProgressCallback)
        with learn.no_logging(), learn.no_bar():
            epochs(learn, 1, Path(folder) / "warm-up")
            over = _compare(learn, args, scan.valid, spec.image_size, Path(folder))
        store.close()
    print(f"{args.arch}, {spec.image_size} px, batch {args.batch}, {torch.get_num_threads()} threads")
    return int(over)


def _compare(learn: Learner, args: argparse.Namespace, samples: list[data.Sample], size: int, folder: Path) -> bool:
    """Whether the bound is broken, by the CPU's seconds."""
    taken: dict[str, list[tuple[Spent, Spent]]] = {"epochs": [], "end": []}
    for number in range(args.rounds):
        board = folder / f"round{number}"
        works = {
            "epochs": lambda where: epochs(learn, args.epochs, where),
            "end": lambda where: evaluation(learn, samples, size, where),
        }
        for name, work in works.items():
            order = (None, board) if number % 2 == 0 else (board, None)  # neither is always the first
            found = {where: spent(lambda where=where, work=work: work(where)) for where in order}
            taken[name].append((found[None], found[board]))
            print(f"{name}: without {found[None].wall:.2f} s ({found[None].cpu:.2f} s of the CPU)", end=", ")
            print(f"with {found[board].wall:.2f} s ({found[board].cpu:.2f} s)", flush=True)
    medians = {
        kind: [statistics.median(getattr(pair[side], kind) for pair in taken["epochs"]) for side in (0, 1)]
        for kind in Spent._fields
    }
    for kind, (without, logged) in medians.items():
        ending = statistics.median(getattr(b, kind) - getattr(a, kind) for a, b in taken["end"])
        print(f"{kind}: epochs {logged / without:.3f} of those without, {logged - without:+.2f} s; end {ending:+.2f} s")
    without, more = medians["cpu"][0], medians["cpu"][1] - medians["cpu"][0] + ending
    bound = max(SHARE * without, SECONDS)
    print(f"in all {more:+.2f} s of the CPU; the bound is {bound:.2f} s")
    return more > bound


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
