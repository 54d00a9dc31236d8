"""Write a trained model in another form, and see that it predicts the same.

python -m app.export model.pkl --to onnx -o model.onnx
python -m app.export model.pkl --to safetensors -o model.safetensors --check photos/
"""

import sys
from pathlib import Path
from typing import Any

from app.errors import UsageError, run
from app.parser import Parser
from data.counting import counted

EPILOG = "example: python -m app.export model.pkl --to onnx -o model.onnx --check photos/"
SUFFIXES = {"onnx": ".onnx", "safetensors": ".safetensors"}
CHECKED = 100  # images at most


def build_parser() -> Parser:
    """The flags of ``app.export``."""
    parser = Parser(prog="python -m app.export", description="Write a model in another form.", epilog=EPILOG)
    add = parser.add_argument
    add("model", metavar="MODEL", help="model.pkl of app.train or of stock fastai; or a .safetensors or .json")
    add("--to", choices=tuple(SUFFIXES), required=True, help="form of the file")
    add("-o", "--output", metavar="FILE", required=True, help="where to write it")
    add("--check", nargs="+", metavar="IMAGE", help="files or folders to compare on (default: the sample in data/)")
    add("--trust", action="store_true", help="run the code of a network of your own")
    return parser


def main(argv: list[str]) -> int:
    """Load, write, compare, and keep the file only when it predicts the same."""
    args = build_parser().parse_args(argv)
    from app.image_arguments import collect
    from app.outputs import printable, refuse_overwriting, written

    model, output = Path(args.model), Path(args.output)
    if output.suffix != SUFFIXES[args.to]:
        raise UsageError(f"--output {output}: give a name that ends in {SUFFIXES[args.to]}")
    sources = collect(args.check or [str(Path(__file__).parent.parent / "data" / "valid")])
    inputs = [model, *(source for _, source in sources if isinstance(source, Path))]
    refuse_overwriting("--output", output, inputs)
    import models

    predictor = models.load(model, trust=args.trust)
    if not hasattr(predictor, "normalised"):  # an ONNX file, or a Learner that only fastai can run
        raise UsageError(
            f"{model}: only a model that app.predict takes without --trust, and no ONNX file, can be exported"
        )
    images = _readable(predictor, sources)
    if args.to == "onnx":
        from models.onnx_export import export_onnx

        with written(output) as path:
            difference = export_onnx(predictor, path, images)
    else:
        from models.safe_export import export_safetensors

        difference = export_safetensors(predictor, output, images, source=model, trust=args.trust)
    said = f"{output}: greatest difference in probability {difference:.1e} on {counted(len(images), 'image')}"
    print(printable(said))
    return 0


def _readable(predictor: Any, sources: list[tuple[str, Path | bytes]]) -> list[Any]:
    """Up to `CHECKED` images, evenly from all that were given, as the network sees them."""
    from app.reading import read_ahead
    from data import ImageError

    chosen = sources[:: -(-len(sources) // CHECKED)]
    read = [image for _, image in read_ahead(chosen, predictor.prepare, predictor.image_size)]
    images = [image for image in read if not isinstance(image, ImageError)]
    if not images:
        raise UsageError("--check: none of the images could be read")
    return images


if __name__ == "__main__":
    sys.exit(run(main))
