"""The flags of ``app.evaluate``, and what is refused before anything is read.

args = parsed(argv)
"""

from argparse import Namespace
from pathlib import Path

from app.argument_types import share, source_name, within
from app.errors import UsageError
from app.model_args import add_model, refuse_explain
from app.parser import Parser
from app.train_args import LAST_SEED, add_data_source

EXPLAINED = 20  # images, half of them errors if there are so many
EPILOG = "example: python -m app.evaluate model.pkl photos/ --plots plots/"


def build_parser() -> Parser:
    """The flags of ``app.evaluate``."""
    parser = Parser(
        prog="python -m app.evaluate", description="Measure how good a model is on labelled images.", epilog=EPILOG
    )
    add = parser.add_argument
    add("model", metavar="MODEL", help="model.pkl of app.train or of stock fastai; or a .safetensors, .json or .onnx")
    add("source", nargs="?", type=source_name, metavar="SOURCE", help="a folder, as of app.train, or cifar10")
    add_data_source(parser)
    add(
        "--split",
        choices=("valid", "train", "test", "all"),
        default="valid",
        help="which images; where SOURCE has no validation split, it is drawn as app.train draws it",
    )
    add("--valid-pct", type=share, default=0.2, metavar="SHARE", help="share drawn, that of the training")
    add(
        "--seed",
        type=within(int, 0, LAST_SEED),
        default=42,
        help="of the draw, that of the training; and of resampling",
    )
    add("--data-dir", metavar="DIR", help="for cifar10: where its archive or unpacked batches lie")
    add("--tta", action="store_true", help="average the probabilities of each image and its mirror image")
    add("--min-accuracy", type=within(float, 0, 1), metavar="X", help="exit with 1 when the accuracy is below it")
    add("--format", choices=("table", "json", "csv"), default="table", help="form of the output")
    add("-o", "--output", metavar="FILE", help="write there instead of to standard output")
    add("--plots", metavar="DIR", help="draw a reliability diagram, the confusion matrix and the worst errors there")
    add_model(add, f"{EXPLAINED} images at most")
    return parser


def parsed(argv: list[str]) -> Namespace:
    """The flags, of which nothing could not be written at the end.

    Raises
    ------
    UsageError
        There is no SOURCE, or something would be written where it must not or cannot be.
    """
    args = build_parser().parse_args(argv)
    if args.source is None and args.csv is None:
        raise UsageError("SOURCE is missing: give a folder of images, or --csv FILE")
    from app.outputs import refuse_folder, refuse_inside, refuse_overwriting

    if args.plots is not None:
        refuse_folder("--plots", Path(args.plots), [args.source])
    refuse_explain(args, [args.source])
    if args.output is not None:
        refuse_overwriting("--output", Path(args.output), [Path(args.model), *([Path(args.csv)] if args.csv else [])])
        refuse_inside("--output", Path(args.output), args.source)
    return args
