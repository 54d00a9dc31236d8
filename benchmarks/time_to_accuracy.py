"""Seconds from a command's start to an accuracy: `app.train` on photos against a script of stock fastai.

python benchmarks/time_to_accuracy.py FOLDER [TARGET ...] [--epochs N] [--seeds N]

Both train tf_efficientnet_lite0 at 224 px from the same weights: stock with ``aug_transforms`` and ``fine_tune(3)``;
ours as it comes, with empty caches, so that the audit and all decoding are included. They take turns, seed by seed.
What counts is when the line with an epoch's accuracy arrives.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
STOCK = """
import sys
from fastai.vision.all import *
from models import efficientnet_lite
set_seed(int(sys.argv[2]))
dls = ImageDataLoaders.from_folder(sys.argv[1], item_tfms=Resize(256), batch_tfms=aug_transforms(size=224), bs=32)
learn = vision_learner(dls, "tf_efficientnet_lite0", pretrained=False, metrics=accuracy, normalize=False)
body = learn.model[0].model
body.load_state_dict(efficientnet_lite.packaged_state_dict(body))
dls.add_tfms([Normalize.from_stats([0.5] * 3, [0.5] * 3, cuda=False)], "after_batch")
learn.remove_cb(ProgressCallback)
learn.logger = lambda row: print("accuracy", row[3], flush=True)
learn.fine_tune(3)
"""


def curve(command: list[str], pattern: str, cache: str) -> list[tuple[float, float]]:
    """Seconds and accuracy of each epoch that `command` says."""
    started, found = time.perf_counter(), []
    environment = {**os.environ, "XDG_CACHE_HOME": cache, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, cwd=PROJECT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        for line in process.stdout:
            if match := re.match(pattern, line):
                found.append((time.perf_counter() - started, float(match[1])))
    if process.returncode:
        raise SystemExit(f"{' '.join(command[:3])} ended with {process.returncode}")
    return found


def first(points: list[tuple[float, float]], target: float) -> str:
    """When `target` was first reached, as text."""
    seconds = next((seconds for seconds, accuracy in points if accuracy >= target), None)
    return "never" if seconds is None else f"{seconds:.1f} s"


def main() -> None:
    """Print both curves per seed, then the seconds to each target and to stock's best."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("targets", nargs="*", type=float, default=[0.90, 0.93, 0.95])
    parser.add_argument("--epochs", type=int, help="of ours, after the probe (default: app.train's)")
    parser.add_argument("--seeds", type=int, default=1)
    args = parser.parse_args()
    folder = str(args.folder.resolve())
    for seed in range(args.seeds):
        with tempfile.TemporaryDirectory() as scratch:
            ours = [sys.executable, "-m", "app.train", folder, "--output", scratch, "--export", f"{scratch}/model.pkl"]
            ours += ["--seed", str(seed)] + ([] if args.epochs is None else ["--epochs", str(args.epochs)])
            stock = [sys.executable, "-W", "ignore", "-c", STOCK, folder, str(seed)]
            curves = {
                "ours": curve(ours, r"\s*\d+\s+\w+\s+\S+\s+\S+\s+(0\.\d+|1\.0+)\s", scratch),
                "stock": curve(stock, r"accuracy (\S+)", scratch),
            }
        for name, points in curves.items():
            print(f"seed {seed} {name:<6}", ", ".join(f"{accuracy:.4f} after {s:.1f} s" for s, accuracy in points))
        best = max(accuracy for _, accuracy in curves["stock"])
        for target in [*args.targets, best]:
            said = ", ".join(f"{name} {first(points, target)}" for name, points in curves.items())
            print(f"  to {target:.4f}{' (the best of stock)' if target == best else ''}: {said}")


if __name__ == "__main__":
    main()
