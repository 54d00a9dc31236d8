"""The flags of ``--device xla``; `app.xla` carries them out.

add_xla(parser.add_argument_group("XLA"))
"""

import argparse
from typing import Any

from app.argument_types import positive


def add_xla(group: Any) -> None:
    """Add the flags to a parser, or to a group of it."""
    add = group.add_argument
    add(
        "--xla-devices",
        type=positive(int),
        metavar="N",
        help="XLA devices that share each batch (default: all; --batch-size is for all together)",
    )
    add(
        "--xla-metrics",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="write torch_xla's report into the run folder",
    )
    add("--xla-cache", metavar="DIR", help="keep compiled graphs there for later runs (TPUs alone)")
