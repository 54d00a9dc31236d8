"""The flags of what makes a training faster; on ``auto``, `app.speed` settles them.

add_speed(parser.add_argument_group("speed"))
"""

import argparse
from typing import Any

# What `app.benchmark` compares, and the names of the two ways.
COMPARISONS = {
    "compile": ("eager", "compiled"),
    "amp": ("float32", "bf16"),
    "channels-last": ("contiguous", "channels_last"),
}


def add_speed(group: Any) -> None:
    """Add the flags to a parser, or to a group of it."""
    add = group.add_argument
    add("--amp", choices=("auto", "off", "bf16", "fp16"), default="auto", help="mixed precision")
    add(
        "--memory-format",
        choices=("auto", "contiguous", "channels_last"),
        default="auto",
        help="layout of images and weights in memory",
    )
    add("--compile", choices=("auto", "on", "off"), default="auto", help="torch.compile for the training")
    add(
        "--compile-mode",
        choices=("default", "reduce-overhead", "max-autotune"),
        default="default",
        help="mode of torch.compile",
    )
    add("--tf32", action=argparse.BooleanOptionalAction, default=True, help="TF32 on GPUs from capability 8.0 on")
