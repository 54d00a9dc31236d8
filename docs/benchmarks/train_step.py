"""Milliseconds per image of a training step, float32 as in stock fastai against bf16 and channels last.

python -m docs.benchmarks.train_step resnet18 128 16 --rounds 10

The ways take turns; the fastest step of each counts, since other work on the machine only slows a step down.
"""

import argparse

import torch

import models
from app.precision import SAFEST_FIRST
from app.synthetic import CLASSES, noise
from app.trial import Work, step_seconds


def main() -> None:
    """Measure, and print a line per way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("arch")
    parser.add_argument("size", type=int)
    parser.add_argument("batch", type=int)
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    device = torch.device("cpu")
    scan = argparse.Namespace(side=args.size, classes=CLASSES, stats=None)
    spec = models.spec(args.arch, scan, image_size=args.size, pretrained=False)
    learn = models.learner(noise(4 * args.batch, args.size, args.batch, device), spec)
    work = Work(args.arch, args.size, args.batch, args.batch, 1, False, device)
    best = dict.fromkeys(SAFEST_FIRST, float("inf"))
    for _ in range(args.rounds):
        for way, seconds in step_seconds(learn, work, SAFEST_FIRST).items():
            best[way] = min(best[way], seconds)
    print(f"{args.arch} {args.size} px, batch {args.batch}, {torch.get_num_threads()} threads, {3 * args.rounds} steps")
    for way, seconds in best.items():
        print(f"  {way!s:<22} {1e3 * seconds:7.2f} ms per image, {best[SAFEST_FIRST[0]] / seconds:.2f}x")


if __name__ == "__main__":
    main()
