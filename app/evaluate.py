"""Measure how good a model is on labelled images; results alone on standard output.

python -m app.evaluate model.pkl photos/
python -m app.evaluate model.pkl photos/ --split all --format json -o evaluation.json --min-accuracy 0.9
"""

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from app.errors import FAILURE, run
from app.evaluate_args import EXPLAINED, parsed
from app.model_args import explainer, on_device, settled_device


def main(argv: list[str]) -> int:
    """Load the model, look at the data, run the one on the other, measure, write."""
    args = parsed(argv)
    device = settled_device(args)
    import models

    predictor = models.load(Path(args.model), trust=args.trust, raw=args.raw)
    found = _labelled(args)
    from app import report
    from app.evaluation.evaluation_formats import FORMATS, Evaluation
    from app.evaluation.metrics import measure
    from app.prediction_formats import output_stream

    explain = explainer(args, predictor)
    scores, remarks = _scored(predictor, found, args)
    about = {
        "model": args.model,
        "source": args.source or args.csv,
        "split": args.split,
        "data": found.sentence,
        "tta": args.tta,
        "device": device,
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
        from app.explaining import explain_scores

        report.say(f"drawn: {len(explain_scores(explain, scores, EXPLAINED, found.truncated))} in {args.explain}")
    accuracy = evaluation.measures.accuracy
    if args.min_accuracy is not None and accuracy < args.min_accuracy:
        report.say(f"accuracy {accuracy:.6g} is below --min-accuracy {args.min_accuracy:g}")
        return FAILURE
    return 0


def _scored(predictor: Any, found: Any, args: Namespace) -> tuple[Any, list[str]]:
    """What `predictor` says of the images of `found` whose classes it knows, and what is to be known of these."""
    from app import report
    from app.evaluation.class_matching import match
    from app.evaluation.scoring import score
    from app.progress import progress_bar

    kept, remarks = match(found.samples, predictor.classes)
    for remark in [*found.notices, *remarks]:
        report.warn(remark)
    source = args.source or args.csv
    report.say(f"data: {source} ({found.sentence}): images: {len(kept)}, files left out: {len(found.skipped)}")
    with on_device(args, predictor), progress_bar("images") as progress:
        options = {"batch_size": args.batch_size, "tta": args.tta, "truncated": found.truncated}
        scores, failures = score(predictor, kept, **options, progress=progress)
    for failure in failures:
        report.warn(f"left out, though the audit has read it: {failure}")
    return scores, remarks


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
