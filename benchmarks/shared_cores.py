"""Images/s of `app.train` when other programs use the processor too: threads that wait by sleeping, or by spinning.

python benchmarks/shared_cores.py FOLDER [--neighbours N ...] [--rounds 2] [--limit 400]

The baseline is the same command with libgomp's own 300,000 spins (``GOMP_SPINCOUNT``). The two take turns, beside so
many processes that keep a core busy each. The second epoch is what is timed; its losses have to be equal.
"""

import argparse
import csv
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from statistics import median

PROJECT = Path(__file__).resolve().parent.parent
WAYS = {"sleeping": None, "spinning": "300000"}


def second_epoch(folder: str, limit: int, spins: str | None) -> tuple[float, float]:
    """Images/s and training loss."""
    environment = {key: value for key, value in os.environ.items() if key not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    environment |= {"GOMP_SPINCOUNT": spins} if spins else {}
    with tempfile.TemporaryDirectory() as scratch:
        command = [
            sys.executable,
            "-m",
            "app.train",
            folder,
            "--epochs",
            "2",
            "--limit",
            str(limit),
            "--compile",
            "off",
        ]
        command += ["--amp", "off", "--memory-format", "contiguous", "--no-probe", "--freeze-epochs", "0"]
        command += ["--output", scratch, "--export", f"{scratch}/model.pkl"]
        subprocess.run(command, cwd=PROJECT, env=environment, check=True, capture_output=True)
        (results,) = Path(scratch).glob("*/results.csv")
        with results.open(encoding="utf-8", newline="") as stream:
            last = list(csv.DictReader(stream))[-1]
    return float(last["images_per_second"]), float(last["train_loss"])


@contextmanager
def beside(neighbours: int):
    """Within, so many processes keep a core busy each."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(neighbours)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def main() -> None:
    """Print each round, then the medians and their ratio, for each number of neighbours."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--neighbours", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--limit", type=int, default=400)
    args = parser.parse_args()
    for neighbours in args.neighbours:
        seen = {way: [] for way in WAYS}
        for _ in range(args.rounds):
            for way, spins in WAYS.items():
                with beside(neighbours):
                    seen[way].append(second_epoch(str(args.folder.resolve()), args.limit, spins))
                print(neighbours, way, *seen[way][-1], flush=True)
        losses = {loss for found in seen.values() for _, loss in found}
        rates = {way: median(rate for rate, _ in found) for way, found in seen.items()}
        print(
            f"{neighbours} neighbours: {rates['sleeping']:.1f} against {rates['spinning']:.1f} images/s, "
            f"{rates['sleeping'] / rates['spinning']:.2f} times; losses {'equal' if len(losses) == 1 else losses}"
        )


if __name__ == "__main__":
    main()
