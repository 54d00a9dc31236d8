"""The flags of checkpoints: how a run is kept, judged, ended early and taken up again.

add_checkpoints(parser.add_argument_group("checkpoints"))
"""

from typing import Any

from app.argument_types import positive

# What tells the best epoch; the names of `callbacks.best.RANKS`, which takes a second to import.
MONITORS = ("accuracy", "loss", "f1")


def add_checkpoints(group: Any) -> None:
    """Add the flags to a parser, or to a group of it."""
    add = group.add_argument
    add("--resume", metavar="RUN_DIR", help="go on with the run of this folder, with its settings")
    add("--checkpoint-every", type=positive(int), default=1, metavar="N", help="epochs between two checkpoints")
    add("--monitor", choices=MONITORS, default="accuracy", help="what tells the best epoch, on the validation images")
    add("--patience", type=positive(int), metavar="N", help="stop after N epochs without a better one (default: never)")
