"""Predict the class of images with an exported model; results alone on standard output.

python -m app.predict model.pkl photo.jpg
python -m app.predict model.pkl photos/ --format csv -o predictions.csv
"""

import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from app.argument_types import positive
from app.error_lines import say_error
from app.errors import FAILURE, run
from app.model_args import add_model, explainer, on_device, refuse_explain, settled_device
from app.parser import Parser

EPILOG = "example: python -m app.predict model.pkl test.jpg --topk 3 --format json"


def build_parser() -> Parser:
    """The flags of ``app.predict``."""
    parser = Parser(prog="python -m app.predict", description="Predict the class of images.", epilog=EPILOG)
    add = parser.add_argument
    add("model", metavar="MODEL", help="model.pkl of app.train or of stock fastai; or a .safetensors, .json or .onnx")
    add(
        "images",
        metavar="IMAGE",
        nargs="+",
        help="files, folders (searched to the bottom), quoted globs, or - for the bytes of one image on standard input",
    )
    add("--list", action="store_true", help="with -: standard input holds a path on each line")
    add("--topk", type=positive(int), default=5, metavar="K", help="classes to show per image")
    add("--format", choices=("table", "json", "jsonl", "csv"), default="table", help="form of the output")
    add("-o", "--output", metavar="FILE", help="write there instead of to standard output")
    add_model(add, "every image")
    return parser


def main(argv: list[str]) -> int:
    """Find the images, load the model, predict batch by batch, write."""
    args = build_parser().parse_args(argv)
    from app.image_arguments import collect
    from app.outputs import refuse_overwriting
    from app.prediction_formats import FORMATS, output_stream

    refuse_explain(args, args.images)
    sources = collect(args.images, listed=args.list)
    if args.output is not None:
        inputs = [Path(args.model), *(source for _, source in sources if isinstance(source, Path))]
        refuse_overwriting("--output", Path(args.output), inputs)
    settled_device(args)
    import models

    predictor = models.load(Path(args.model), trust=args.trust, raw=args.raw)
    explain = explainer(args, predictor)
    topk = min(args.topk, len(predictor.classes))
    failures: list[str] = []
    with on_device(args, predictor), output_stream(args.output) as stream:
        records = _records(predictor, sources, topk, args.batch_size, failures, explain)
        FORMATS[args.format](records, stream, topk)
    if explain is not None:
        print(f"drawn: {len(explain.paths)} in {args.explain}", file=sys.stderr)
    if failures:
        print(f"{len(failures)} of {len(sources)} images could not be read", file=sys.stderr)
    return FAILURE if failures else 0


def _records(
    predictor: Any,
    sources: list[tuple[str, Path | bytes]],
    topk: int,
    batch_size: int | None,
    failures: list[str],
    explain: Callable[[list], list[Path]] | None,
) -> Iterator[dict[str, Any]]:
    """Predict batch by batch; an image that cannot be read is said on standard error and added to `failures`.

    With `explain`, each record has the picture's path as ``explanation``.
    """
    from app.prediction_formats import record
    from app.progress import progress_bar
    from app.reading import read_ahead
    from data import ImageError

    def readable(progress: Callable[[int, int], None] | None) -> Iterator[tuple[str, Any]]:
        read = read_ahead(sources, predictor.prepare, predictor.image_size)
        for done, (name, image) in enumerate(read, 1):
            if isinstance(image, ImageError):
                failures.append(name)
                say_error(image)
            else:
                yield name, image
            if progress:
                progress(done, len(sources))

    batch_size = batch_size or predictor.expect(len(sources))
    with progress_bar("images") as progress:
        pairs = readable(progress)
        while batch := list(islice(pairs, batch_size)):
            rows = predictor.probabilities([image for _, image in batch]).tolist()
            drawn = [{}] * len(batch) if explain is None else [{"explanation": str(path)} for path in explain(batch)]
            for (name, _), row, more in zip(batch, rows, drawn):
                yield record(name, predictor.classes, row, topk) | more


if __name__ == "__main__":
    sys.exit(run(main))
