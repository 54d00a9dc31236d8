"""The flags of ``app.train``, checked before anything heavy is imported.

args = parse(build_parser(), ["data/", "--epochs", "3"])
"""

import argparse
from typing import Any

from app.argument_types import batch_size, columns, device, learning_rate, positive, share, source_name, within
from app.checkpoint_args import add_checkpoints
from app.input_args import add_input
from app.parser import Parser
from app.speed_args import add_speed
from app.xla_args import add_xla

IMAGE_SIZES = (8, 4096)  # px; below, no network has anything left to look at, above, no memory suffices
MOST_WORKERS = 256
TARGETS = (94, 95, 96)
LAST_SEED = 2**32 - 1  # numpy's


def build_parser() -> Parser:
    """The parser; a default of None means: chosen for the architecture, the images or the machine."""
    parser = Parser(
        prog="python -m app.train",
        description="Train an image classifier on a folder of images, or on cifar10, and export model.pkl.",
        epilog="example: python -m app.train photos/ --epochs 5 --batch-size 16",
    )
    add = parser.add_argument
    add(
        "source",
        nargs="?",
        type=source_name,
        metavar="SOURCE",
        help="a folder (train/ and valid/, or one folder per class), or cifar10",
    )
    add("--config", metavar="FILE.yaml", help="settings file; flags win over it")

    add = parser.add_argument_group("model").add_argument
    add(
        "--arch",
        "-m",
        default="auto",
        metavar="NAME",
        help="torchvision or timm name, one of ours, or package.module:callable",
    )
    add("--list-archs", nargs="?", const="*", metavar="PATTERN", help="print the names of architectures and stop")
    add(
        "--pretrained",
        action=argparse.BooleanOptionalAction,
        help="start from published weights (default: where there are any)",
    )
    add("--weights", metavar="MODEL", help="start from an earlier model: a .pkl, .safetensors or .json")
    add(
        "--img-size",
        "--imgsz",
        type=within(int, *IMAGE_SIZES),
        metavar="PIXELS",
        help=f"side of the square the network sees, {IMAGE_SIZES[0]} to {IMAGE_SIZES[1]} (default: chosen)",
    )

    add = parser.add_argument_group("training").add_argument
    add("--recipe", choices=("speed",), help="of a whole training: CIFAR-10, or other small images, in minutes")
    add("--target", type=int, choices=TARGETS, help="of --recipe speed: per cent of CIFAR-10, 94 if not given")
    add(
        "--probe",
        action=argparse.BooleanOptionalAction,
        help="with pretrained weights, begin with the best linear head on the features of the frozen network "
        "(default: yes)",
    )
    add(
        "--epochs",
        type=positive(int, zero=True),
        metavar="N",
        help="epochs with the whole network trained, 0 to stop after the probe (default: by architecture)",
    )
    add(
        "--freeze-epochs",
        type=positive(int, zero=True),
        metavar="N",
        help="epochs before them with only the head trained (default: none after a probe, else by architecture)",
    )
    add(
        "--train-bn",
        action=argparse.BooleanOptionalAction,
        help="let a pretrained network's batch norms learn the statistics of the images, and train them while the "
        "rest is frozen (default: not after a probe)",
    )
    add(
        "--batch-size",
        "-b",
        type=batch_size,
        metavar="N",
        help="images per step, or 'auto' for what fits into a GPU's memory (default: by architecture)",
    )
    add("--accumulate", type=positive(int), default=1, metavar="N", help="batches per step of the optimizer")
    add(
        "--lr",
        type=learning_rate,
        metavar="RATE",
        help="peak learning rate, or 'find' for the finder's suggestion (default: by architecture)",
    )
    add("--wd", type=positive(float, zero=True), metavar="DECAY", help="weight decay (default: by architecture)")
    add("--opt", choices=("adam", "sgd", "muon"), help="optimizer (default: adam; muon with --recipe speed)")
    add(
        "--label-smoothing",
        type=within(float, 0, 0.9),
        metavar="SHARE",
        help="share of the target that is spread over all classes (default: 0, or the recipe's)",
    )
    add(
        "--balance",
        choices=("none", "weights", "sampler"),
        default="none",
        help="for classes of unequal size: weigh them in the loss, or draw each equally often",
    )
    add("--ema", type=share, metavar="DECAY", help="validate and export an average of the weights, of 0.999 say")
    add("--seed", type=within(int, 0, LAST_SEED), default=42, help="seed of every random choice")
    add(
        "--deterministic",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="on a GPU too, take only kernels whose results repeat, where torch has such; slower",
    )

    group = parser.add_argument_group("data")
    add_data_source(group)
    add = group.add_argument
    add(
        "--valid-pct",
        type=share,
        default=0.2,
        metavar="SHARE",
        help="share drawn for validation where the folder has no split",
    )
    add(
        "--limit",
        type=positive(int),
        metavar="N",
        help="images per split at most, classes in proportion (default: all)",
    )
    add(
        "--data-dir",
        metavar="DIR",
        help="for cifar10: where its archive or unpacked batches lie (default: a cache folder)",
    )
    add(
        "--workers",
        "-j",
        type=within(int, 0, MOST_WORKERS),
        metavar="N",
        help="threads that read images, processes where they are small (default: chosen)",
    )

    add_input(parser.add_argument_group("images"))

    add_speed(parser.add_argument_group("speed"))
    add_checkpoints(parser.add_argument_group("checkpoints"))
    add_xla(parser.add_argument_group("XLA (with --device xla)"))

    add = parser.add_argument_group("machine and output").add_argument
    add("--device", default="auto", type=device, metavar="NAME", help="auto, cpu, cuda, cuda:N, mps or xla")
    add("--output", default="runs", metavar="DIR", help="folder of run folders")
    add(
        "--log-every",
        type=positive(int),
        metavar="N",
        help="steps between two losses that are read (default: 10; on xla, all when an epoch ends)",
    )
    add("--name", help="added to the run folder's name")
    add("--export", default="model.pkl", metavar="FILE", help="where the finished model goes")
    add("--dry-run", action="store_true", help="audit, shapes, memory and a picture of a batch; no training")
    return parser


def add_data_source(group: Any) -> None:
    """Add to a parser or a group of it the flags that `app.train` and `app.audit` share."""
    add = group.add_argument
    add("--csv", metavar="FILE", help="labels from a CSV file; paths start from SOURCE, or from the file's own folder")
    add(
        "--csv-columns",
        type=columns,
        metavar="PATH,LABEL,SPLIT",
        help="its columns; the split is optional (default: path,label,split)",
    )
    switch = {"action": argparse.BooleanOptionalAction, "default": False}
    add("--allow-truncated", **switch, help="keep images that end early, with what there is of them")
    add("--drop-leaks", **switch, help="leave out of train what is in validation too")
