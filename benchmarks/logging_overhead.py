"""What TensorBoard costs a training, in one process.

python benchmarks/logging_overhead.py [SOURCE] [--arch resnet20_cifar] [--epochs 2] [--rounds 3] [--batch 32]

Without SOURCE it is the sample data set. During the epochs: the seconds within our callback, which are far fewer than
two equal epochs differ by. At the end of a training, what is evaluated and written with and without it, in turn.
Seconds are those of the process on the CPU, less noisy beside other work than the clock's; medians over the rounds.
The bound is the larger of 1% and 2 seconds a run; beyond it, the exit code is 1. `OMP_NUM_THREADS=1` counts no thread
that waits.
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


class Timed(TensorBoard):
    """Counts the seconds that it takes in `spent`."""

    def __init__(self, folder: Path):
        self.spent, started = 0.0, time.process_time()
        super().__init__(folder)
        self.spent += time.process_time() - started

    def __call__(self, event_name: str):
        started = time.process_time()
        try:
            return super().__call__(event_name)
        finally:
            self.spent += time.process_time() - started

    def close(self) -> None:
        """As TensorBoard does."""
        started = time.process_time()
        super().close()
        self.spent += time.process_time() - started


class Round(NamedTuple):
    """Seconds of the process on the CPU: of all epochs, of our callback within them, and of the end."""

    epochs: float
    logging: float
    end: float
    end_logged: float


def spent(work: Callable[[], object]) -> float:
    """Do it, and see what it took."""
    started = time.process_time()
    work()
    return time.process_time() - started


def logged_epochs(learn: Learner, count: int, board: TensorBoard) -> None:
    """Train `count` epochs and log them."""
    learn.fit(count, 1e-5, cbs=[EpochTimer(), board])
    board.close()


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
    rounds: list[Round] = []
    with tempfile.TemporaryDirectory() as folder:
        scan = data.scan(args.source)
        spec = models.spec(args.arch, scan, pretrained=False)
        store = PixelStore(Path(folder) / "pixels")
        loaders = data.loaders(scan, spec, batch_size=args.batch, pixels=Pixels(spec.image_size, store))
        learn = models.learner(loaders, spec, path=Path(folder))
        learn.remove_cb(ProgressCallback)
        with learn.no_logging(), learn.no_bar():
            logged_epochs(learn, 1, TensorBoard(Path(folder) / "warm-up"))
            evaluation(learn, scan.valid, spec.image_size, Path(folder) / "warm-up-end")
            for number in range(args.rounds):
                rounds.append(_round(learn, args.epochs, scan.valid, spec.image_size, Path(folder) / str(number)))
                print(
                    ", ".join(f"{name} {seconds:.3f} s" for name, seconds in rounds[-1]._asdict().items()), flush=True
                )
        store.close()
    epochs = statistics.median(one.epochs - one.logging for one in rounds)
    logging = statistics.median(one.logging for one in rounds)
    end = statistics.median(one.end_logged - one.end for one in rounds)
    bound = max(SHARE * epochs, SECONDS)
    print(
        f"epochs {logging:.2f} s more, {logging / epochs:.1%}; end {end:.2f} s more; the bound of both is {bound:.2f} s"
    )
    print(f"{args.arch}, {spec.image_size} px, batch {args.batch}, {torch.get_num_threads()} threads")
    return int(logging + end > bound)


def _round(learn: Learner, epochs: int, samples: list[data.Sample], size: int, folder: Path) -> Round:
    board = Timed(folder)
    taken = spent(lambda: logged_epochs(learn, epochs, board))
    plain = spent(lambda: evaluation(learn, samples, size, None))
    return Round(taken, board.spent, plain, spent(lambda: evaluation(learn, samples, size, folder / "end")))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
