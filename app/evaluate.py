"""Measure how good a model is on labelled images; results alone on standard output.

python -m app.evaluate model.pkl photos/
python -m app.evaluate model.pkl photos/ --split all --format json -o evaluation.json --min-accuracy 0.9
"""

import sys
from argparse import Namespace
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from app.argument_types import positive, share, source_name, within
from app.errors import FAILURE, UsageError, run
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
    add(
        "--explain", metavar="DIR", help=f"draw there what the network looked at (Grad-CAM): {EXPLAINED} images at most"
    )
    add("--batch-size", "-b", type=positive(int), metavar="N", help="images per forward pass (default: chosen)")
    add("--device", choices=("cpu", "xla"), default="cpu", help="where the network runs")
    add("--raw", action="store_true", help="probabilities as they were before calibration")
    add("--trust", action="store_true", help="run whatever code MODEL holds, as stock fastai does")
    return parser


def main(argv: list[str]) -> int:
    """Load the model, look at the data, run the one on the other, measure, write."""
    args = build_parser().parse_args(argv)
    _check(args)
    from app.xla import predicting

    device = "cpu"
    if args.device == "xla":
        from app.device import choose_device

        device, reason = choose_device("xla")
        print(f"device: {device} ({reason})", file=sys.stderr)
    import models

    predictor = models.load(Path(args.model), trust=args.trust, raw=args.raw)
    found = _labelled(args)
    from app import report
    from app.evaluation.class_matching import match
    from app.evaluation.evaluation_formats import FORMATS, Evaluation
    from app.evaluation.metrics import measure
    from app.evaluation.scoring import score
    from app.prediction_formats import output_stream
    from app.progress import progress_bar

    source = args.source or args.csv
    kept, remarks = match(found.samples, predictor.classes)
    for remark in [*found.notices, *remarks]:
        report.warn(remark)
    report.say(f"data: {source} ({found.sentence}): images: {len(kept)}, files left out: {len(found.skipped)}")
    on_device = predicting(predictor) if args.device == "xla" else nullcontext()
    explain = None
    if args.explain is not None:
        from app.explaining import Explainer, explain_scores

        explain = Explainer(predictor, Path(args.explain), args.model)
    with on_device, progress_bar("images") as progress:
        options = {"batch_size": args.batch_size, "tta": args.tta, "truncated": found.truncated}
        scores, failures = score(predictor, kept, **options, progress=progress)
    for failure in failures:
        report.warn(f"left out, though the audit has read it: {failure}")
    about = {
        "model": args.model,
        "source": source,
        "split": args.split,
        "data": found.sentence,
        "tta": args.tta,
        "device": str(device),
        "skipped": [{"file": str(path), "reason": reason} for path, reason in found.skipped],
        "remarks": remarks,
    }
    evaluation = Evaluation(scores, measure(scores, args.seed), about)
    with output_stream(args.output) as stream:
        FORMATS[args.format](evaluation, stream)
    if args.plots is not None:
        from app.evaluation.evaluation_plots import write_plots

        report.say(f"drawn: {', '.join(map(str, write_plots(evaluation, Path(args.plots), found.truncated)))}")
    if explain is not None:
        report.say(f"drawn: {len(explain_scores(explain, scores, EXPLAINED, found.truncated))} in {args.explain}")
    accuracy = evaluation.measures.accuracy
    if args.min_accuracy is not None and accuracy < args.min_accuracy:
        report.say(f"accuracy {accuracy:.6g} is below --min-accuracy {args.min_accuracy:g}")
        return FAILURE
    return 0


def _check(args: Namespace) -> None:
    """Refuse, before anything is read, what could not be written at the end."""
    if args.source is None and args.csv is None:
        raise UsageError("SOURCE is missing: give a folder of images, or --csv FILE")
    from app.outputs import refuse_folder, refuse_inside, refuse_overwriting

    if args.explain is not None and args.device != "cpu":
        raise UsageError("--explain is for --device cpu")
    for flag, folder in (("--plots", args.plots), ("--explain", args.explain)):
        if folder is not None:
            refuse_folder(flag, Path(folder), [args.source])
    if args.output is not None:
        refuse_overwriting("--output", Path(args.output), [Path(args.model), *([Path(args.csv)] if args.csv else [])])
        refuse_inside("--output", Path(args.output), args.source)


def _labelled(args: Namespace) -> Any:
    from app.progress import progress_bar
    from data.labelled import labelled

    with progress_bar("files looked at") as progress:
        return labelled(
            args.source,
            args.split,
            csv=args.csv,
            csv_columns=args.csv_columns,
            valid_pct=args.valid_pct,
            seed=args.seed,
            data_dir=args.data_dir,
            allow_truncated=args.allow_truncated,
            drop_leaks=args.drop_leaks,
            progress=progress,
        )


if __name__ == "__main__":
    sys.exit(run(main))
