"""Look at every file of a data set and say what is wrong with it, or doubtful. Changes nothing.

python -m app.audit data/
python -m app.audit photos/ --grid doubtful.png --strict
"""

import sys
from pathlib import Path

from app.argument_types import source_name
from app.errors import FAILURE, USAGE, UsageError, run
from app.parser import Parser
from app.train_args import add_data_source


def build_parser() -> Parser:
    """The flags of ``app.audit``."""
    parser = Parser(
        prog="python -m app.audit",
        description="Decode every image of a data set once and report what is left out of a training, and why.",
        epilog="example: python -m app.audit photos/ --grid doubtful.png",
    )
    add = parser.add_argument
    add(
        "source",
        nargs="?",
        type=source_name,
        metavar="SOURCE",
        help="a folder (train/ and valid/, or one folder per class)",
    )
    add_data_source(parser)
    add("--format", choices=("table", "json"), default="table", help="form of the report")
    add("--grid", metavar="FILE.png", help="draw the files that are left out or doubtful, with the reasons")
    add(
        "--strict",
        action="store_true",
        help="exit with 1 when anything is found (with 2 what cannot be trained on is always)",
    )
    add("--no-cache", action="store_true", help="decode every file anew, and remember nothing")
    return parser


def main(argv: list[str]) -> int:
    """Audit, report, draw."""
    args = build_parser().parse_args(argv)
    _check(args.source, args.csv, args.grid)
    from app.audit_formats import FORMATS
    from app.progress import progress_bar
    from data.audit import audit

    with progress_bar("files looked at") as progress:
        found = audit(
            args.source,
            csv=args.csv,
            csv_columns=args.csv_columns,
            allow_truncated=args.allow_truncated,
            drop_leaks=args.drop_leaks,
            remember=not args.no_cache,
            progress=progress,
        )
    FORMATS[args.format](found, sys.stdout)
    if args.grid is not None:
        from app.contact_sheet import draw
        from app.outputs import refuse_overwriting

        refuse_overwriting("--grid", Path(args.grid), [item.path for item in found.items])
        print(draw(found, Path(args.grid)), file=sys.stderr)
    if any(finding.severity == "error" for finding in found.findings):
        return USAGE
    return FAILURE if args.strict and found.findings else 0


def _check(source: str | None, csv: str | None, grid: str | None) -> None:
    if source is None and csv is None:
        raise UsageError("SOURCE is missing: give a folder of images, or --csv FILE")
    if source == "cifar10":
        raise UsageError("cifar10 is checked whenever it is loaded: give a folder of images")
    if grid is None:
        return
    path = Path(grid).absolute()
    if path.suffix.lower() != ".png":
        raise UsageError(f"--grid {grid}: the name of a PNG file is expected")
    if not path.parent.is_dir():
        raise UsageError(f"--grid {grid}: the folder {path.parent} does not exist")
    from app.outputs import refuse_inside

    refuse_inside("--grid", Path(grid), source)


if __name__ == "__main__":
    sys.exit(run(main))
