"""What each trick of `app.train cifar10 --recipe speed` buys: the recipe without it, over a few epochs.

python benchmarks/cifar_ablation.py DATA_DIR [NAME ...] [--epochs 4] [--seed N ...]

Prints a table's row as soon as it is known: the accuracy on the test images, alone and with the mirror image averaged,
and how far each lies from the whole recipe's. Two seeds of the whole recipe differ by 0.001 to 0.003.
"""

import argparse
import csv
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from cifar_speed import evaluated
from time_to_accuracy import PROJECT


class Change(NamedTuple):
    """Lines that run before `app.train` does, and flags for it."""

    lines: str = ""
    flags: tuple[str, ...] = ()


def _shifts(change: str) -> Change:
    return Change(f"import dataclasses, data.augmentation as a\nway = a.SHIFTS\nway['airbench94'] = {change}")


WHOLE = "whole recipe"
CHANGES = {
    WHOLE: Change(),
    "whole images in all epochs": Change("import app.phases as p\np.RESIZING = ()"),
    "first layer trained from random weights": Change(
        "import models.learners as m\nm.whiten_by = lambda learn: learn.model.whiten.weight.requires_grad_(True)"
    ),
    "convolutions begin at random": Change("import torch\ntorch.nn.init.dirac_ = lambda weights: weights"),
    "batch norms' biases 64 times slower": Change("import models.airbench_training as m\nm.BIASES /= 64"),
    "flips by chance": _shifts("dataclasses.replace(way['airbench94'], flips='random')"),
    "no flips": _shifts("dataclasses.replace(way['airbench94'], flips='none')"),
    "no shifts": _shifts("dataclasses.replace(way['airbench94'], padding=0)"),
    "no label smoothing": Change(flags=("--label-smoothing", "0")),
    "SGD, one cycle, 0.1": Change(flags=("--opt", "sgd")),
    "Adam, one cycle, 0.004": Change(flags=("--opt", "adam")),
    "with an average of the weights (0.95)": Change(flags=("--ema", "0.95")),
}
RUN = "import sys\n{lines}\nfrom app.train import main\nsys.exit(main(sys.argv[1:]))"


def main() -> None:
    """Print a row for each change and seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help="rows of the table (default: all)")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seed", type=int, nargs="+", default=[0], dest="seeds")
    args = parser.parse_args()
    if unknown := set(args.names) - set(CHANGES):
        parser.error(f"{', '.join(unknown)}: expected some of {', '.join(CHANGES)}")
    folder, whole = str(args.data_dir.resolve()), {}
    print("| | seed | alone | with the mirror image | s of an epoch |\n|---|---|---|---|---|", flush=True)
    for name in args.names or CHANGES:
        for seed in args.seeds:
            found = trained(CHANGES[name], folder, args.epochs, seed)
            whole.setdefault(seed, found)
            cells = [
                f"{accuracy:.4f}" + ("" if found is whole[seed] else f" ({accuracy - base:+.4f})")
                for accuracy, base in zip(found[:2], whole[seed])
            ]
            print(f"| {name} | {seed} | {' | '.join(cells)} | {found[2]:.0f} |", flush=True)


def trained(change: Change, folder: str, epochs: int, seed: int) -> tuple[float, float, float]:
    """Accuracy of the last epoch, the same with mirror images, and the seconds of the fastest epoch's steps."""
    with tempfile.TemporaryDirectory() as scratch:
        model = f"{scratch}/model.pkl"
        command = [sys.executable, "-c", RUN.format(lines=change.lines), "cifar10", "--data-dir", folder]
        command += ["--recipe", "speed", "--epochs", str(epochs), "--seed", str(seed), *change.flags]
        command += ["--output", f"{scratch}/runs", "--export", model]
        subprocess.run(command, cwd=PROJECT, check=True, capture_output=True)
        with next(Path(scratch, "runs").glob("*/results.csv")).open() as file:
            rows = list(csv.DictReader(file))
        seconds = min(float(row["train_seconds"]) for row in rows)
        return float(rows[-1]["accuracy"]), evaluated(model, folder), seconds


if __name__ == "__main__":
    main()
