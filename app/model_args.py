"""The flags of commands that run an exported model on images, and what is done about them before it is loaded.

add_model(parser.add_argument)              # of app.predict and app.evaluate
device = settled_device(args)               # "cpu" or "xla"
with on_device(args, predictor): ...
"""

import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from app.argument_types import positive
from app.errors import UsageError


def add_model(add: Callable[..., Any], explained: str) -> None:
    """Add them to a parser; `explained` says of which images ``--explain`` draws something."""
    add("--batch-size", "-b", type=positive(int), metavar="N", help="images per forward pass (default: chosen)")
    add("--device", choices=("cpu", "xla"), default="cpu", help="where the network runs")
    add("--explain", metavar="DIR", help=f"draw there where the network sees the class (Grad-CAM), of {explained}")
    add("--raw", action="store_true", help="probabilities as they were before calibration")
    add("--trust", action="store_true", help="run whatever code MODEL holds, as stock fastai does")


def refuse_explain(args: Namespace, sources: Sequence[Any]) -> None:
    """Raise a UsageError where ``--explain`` could not be drawn at the end; `sources` are what is read."""
    if args.explain is None:
        return
    if args.device != "cpu":
        raise UsageError("--explain is for --device cpu")
    from app.outputs import refuse_folder

    refuse_folder("--explain", Path(args.explain), sources)


def settled_device(args: Namespace) -> str:
    """The device; which one is said on standard error where it had to be chosen.

    Raises
    ------
    UsageError
        It is not there.
    """
    if args.device == "cpu":
        return "cpu"
    from app.device import choose_device

    device, reason = choose_device(args.device)
    print(f"device: {device} ({reason})", file=sys.stderr)
    return str(device)


def on_device(args: Namespace, predictor: Any) -> AbstractContextManager[None]:
    """While it holds, `predictor` runs there."""
    if args.device == "cpu":
        return nullcontext()
    from app.xla import predicting

    return predicting(predictor)


def explainer(args: Namespace, predictor: Any) -> Any:
    """What draws the explanations (`app.explaining`), or None."""
    if args.explain is None:
        return None
    from app.explaining import Explainer

    return Explainer(predictor, Path(args.explain), args.model)
