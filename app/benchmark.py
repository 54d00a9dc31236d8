"""The study: train with and without something that should be faster, once and repeatedly, and compare.

python -m app.benchmark --synthetic 256 --arch resnet18_cifar --img-size 32 --epochs 3 --runs 2
python -m app.benchmark photos/ --arch resnet50 --epochs 5 --runs 3 --batch-size 128 --compare amp

Four experiments: each of the two ways in a single run, and in several; what is compiled once is used again over
the repeats. The two ways take turns, so that whatever else the machine does falls on both.
"""

import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from app.argument_types import device, positive, source_name, within
from app.errors import INTERRUPTED, UsageError, run
from app.parser import Parser
from app.speed_args import COMPARISONS
from app.train_args import LAST_SEED, MOST_WORKERS


def build_parser() -> Parser:
    """The flags of ``app.benchmark``."""
    parser = Parser(
        prog="python -m app.benchmark",
        description="Compare two ways to train: epoch times of single and repeated runs, as CSV, PNG and TensorBoard.",
        epilog="example: python -m app.benchmark cifar10 --arch resnet18_cifar --limit 1000 --compare compile",
    )
    count = positive(int)
    add = parser.add_argument
    add("source", nargs="?", type=source_name, metavar="SOURCE", help="a folder of images, or cifar10")
    add("--synthetic", type=count, metavar="N", help="train on N images of noise instead of a SOURCE")
    add("--compare", choices=COMPARISONS, default="compile", help="what is compared")
    add("--arch", "-m", default="resnet50", metavar="NAME", help="as in app.train")
    add("--epochs", type=count, default=5, metavar="N", help="epochs of a run, 2 or more")
    add("--runs", type=count, default=3, metavar="N", help="runs of the repeated experiments")
    add("--batch-size", "-b", type=count, default=128, metavar="N", help="images per step")
    add("--img-size", "--imgsz", type=count, default=224, metavar="PIXELS", help="side of the square that is seen")
    add("--amp", choices=("off", "bf16"), default="off", help="precision of both ways")
    add("--channels-last", action="store_true", help="memory format of both ways")
    add("--tf32", action="store_true", help="TF32 for both ways, on GPUs from capability 8.0 on")
    add("--limit", type=count, metavar="N", help="images per split at most (default: all)")
    add("--data-dir", metavar="DIR", help="for cifar10: where its archive or unpacked batches lie")
    add("--workers", "-j", type=within(int, 0, MOST_WORKERS), metavar="N", help="processes that read images")
    add("--seed", type=within(int, 0, LAST_SEED), default=42, help="seed of every random choice")
    add("--device", default="auto", type=device, metavar="NAME", help="auto, cpu, cuda, cuda:N or mps")
    add("--output", default="runs", metavar="DIR", help="folder of the study's folder")
    return parser


def main(argv: list[str]) -> int:
    """Arguments, device, data, the experiments, the report."""
    args = build_parser().parse_args(argv)
    if (args.source is None) == (args.synthetic is None):
        raise UsageError("give a SOURCE, or --synthetic N")
    if args.epochs < 2:
        raise UsageError("--epochs 1: the first epoch warms up, two or more are needed")
    if args.batch_size < 2:
        raise UsageError("--batch-size 1: batch normalisation needs two images or more")
    from app import report
    from app.device import choose_device
    from app.precision import check_asked

    if args.device == "xla":
        raise UsageError("--device xla: nothing is compared there; app.train measures the run itself, under xla/")
    device, reason = choose_device(args.device)
    report.say(f"device: {device} ({reason})")
    check_asked("bf16" if args.compare == "amp" else args.amp, device)
    from app.study import Study
    from app.tf32 import set_tf32

    if device.type == "cuda":
        set_tf32(args.tf32)
    folder = Path(args.output, f"{time.strftime('%Y%m%d-%H%M%S')}-{args.arch}-{args.compare}")
    folder.mkdir(parents=True)
    study = Study(args, device, folder, *_data(args, device))
    report.say(f"study: {folder}")
    finished = study.run()
    study.conclude()
    return 0 if finished else INTERRUPTED


def _data(args: Any, device: Any) -> tuple[Any, Any]:
    """The spec of the network and the function that makes loaders; the images of a source, or noise."""
    import data
    import models

    if args.synthetic is None:
        scan = data.scan(args.source, valid_pct=0.2, limit=args.limit, seed=args.seed, data_dir=args.data_dir)
        spec = models.spec(args.arch, scan, image_size=args.img_size, pretrained=False)
        return spec, lambda: data.loaders(
            scan, spec, batch_size=args.batch_size, workers=args.workers, device=device, aug_mult=1.0
        )
    from app.synthetic import CLASSES, noise

    scan = SimpleNamespace(side=args.img_size, classes=CLASSES, stats=None)
    spec = models.spec(args.arch, scan, image_size=args.img_size, pretrained=False)
    return spec, lambda: noise(args.synthetic, args.img_size, args.batch_size, device)


if __name__ == "__main__":
    sys.exit(run(main))
