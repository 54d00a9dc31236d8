"""Milliseconds per image of a training step, float32 as in stock fastai against bf16, channels last and compiled code.

python -m docs.benchmarks.train_step resnet18 128 64 --rounds 6 --compiled

The ways take turns; the fastest step of each counts, since other work on the machine only slows a step down.
"""

import argparse

import torch

import models
from app.precision import SAFEST_FIRST
from app.synthetic import CLASSES, noise
from app.trial import Copy, Way, Work

WARM_UP = 2  # steps of each way that are not counted: the first compiles


def main() -> None:
    """Measure, and print a line per way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("arch")
    parser.add_argument("size", type=int)
    parser.add_argument("batch", type=int)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--compiled", action="store_true", help="compiled code too, which takes minutes")
    args = parser.parse_args()
    device = torch.device("cpu")
    scan = argparse.Namespace(side=args.size, classes=CLASSES, stats=None)
    spec = models.spec(args.arch, scan, image_size=args.size, pretrained=False)
    learn = models.learner(noise(2 * args.batch, args.size, args.batch, device), spec)
    work = Work(args.arch, args.size, args.batch, args.batch, 1, False, device)
    steps = {str(way): (Copy(learn, work, way.memory_format), way.amp) for way in SAFEST_FIRST}
    if args.compiled:
        steps |= {f"{way}, compiled": (_compiled(learn, work, way), way.amp) for way in SAFEST_FIRST}
    x = torch.randn(args.batch, 3, args.size, args.size)
    best = dict.fromkeys(steps, float("inf"))
    for turn in range(WARM_UP + args.rounds):
        for name, (copy, amp) in steps.items():
            seconds = copy.step(x, amp) / args.batch
            if turn >= WARM_UP:
                best[name] = min(best[name], seconds)
    print(f"{args.arch} {args.size} px, batch {args.batch}, {torch.get_num_threads()} threads, {args.rounds} steps")
    for name, seconds in best.items():
        print(f"  {name:<32} {1e3 * seconds:7.2f} ms per image, {best[str(SAFEST_FIRST[0])] / seconds:.2f}x")


def _compiled(learn: object, work: Work, way: Way) -> Copy:
    copy = Copy(learn, work, way.memory_format)
    copy.model = torch.compile(copy.model)
    return copy


if __name__ == "__main__":
    main()
