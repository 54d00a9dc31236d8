"""How long does one photo take in a fresh process: `app.predict`, against the script that stock fastai's users write?

python benchmarks/predict_cold.py MODEL.pkl PHOTO [MODEL.onnx]

The script is ``load_learner(MODEL)`` and ``predict(PHOTO)``. Every way is started anew in each round, taking turns;
the first round, which warms the disk cache, does not count. Beside the seconds, those of the processor are said,
which other work on the machine changes less.
"""

import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

PROJECT = Path(__file__).resolve().parent.parent
ROUNDS = 5
STOCK = "import sys; from fastai.vision.all import *; print(load_learner(sys.argv[1]).predict(sys.argv[2]))"


def seconds_of(command: list[str]) -> tuple[float, float]:
    """Of one process: the seconds until it ended, and those of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    subprocess.run(command, cwd=PROJECT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    spent = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(argv: list[str]) -> int:
    """Print a row per way: seconds, their ratio to stock's, and the same of the processor's."""
    if len(argv) not in (2, 3):
        print("usage: python benchmarks/predict_cold.py MODEL.pkl PHOTO [MODEL.onnx]", file=sys.stderr)
        return 2
    model, photo, *more = (str(Path(word).resolve()) for word in argv)
    ways = {"stock script": [sys.executable, "-W", "ignore", "-c", STOCK, model, photo]}
    for file in (model, *more):
        ways[f"app.predict {Path(file).name}"] = [sys.executable, "-m", "app.predict", file, photo]
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(ROUNDS + 1):
        for name, command in ways.items():
            spent[name].append(seconds_of(command))
    print(f"{'':<32}{'seconds':>8}{'ratio':>7}{'processor':>11}{'ratio':>7}   medians of {ROUNDS}")
    stock = [median(column) for column in zip(*spent["stock script"][1:])]
    for name, rounds in spent.items():
        wall, processor = (median(column) for column in zip(*rounds[1:]))
        print(f"{name:<32}{wall:>8.2f}{wall / stock[0]:>7.2f}{processor:>11.2f}{processor / stock[1]:>7.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
