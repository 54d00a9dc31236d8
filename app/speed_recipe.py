"""``app.train --recipe speed``: the small network that learns CIFAR-10 in minutes, and all that belongs to it.

What it consists of: `models.airbench` (the network), `models.airbench_training` and `models.muon` (how it is trained),
`data.shifts` and `callbacks.progressive_resizing` (what is done to the images).
"""

from argparse import Namespace

from app.errors import UsageError

USUAL = 94  # per cent of CIFAR-10


def apply_recipe(args: Namespace) -> None:
    """Choose the architecture, whose training defaults are the recipe; every flag of the user's still holds.

    Raises
    ------
    UsageError
        Another architecture, or a target without the recipe.
    """
    if args.recipe is None:
        if args.target is not None:
            raise UsageError("--target goes with --recipe speed")
        return
    arch = f"airbench{args.target or USUAL}_cifar"
    if args.arch not in ("auto", arch):
        source = f" (see {args.config} too)" if args.config else ""
        way_out = f"give --arch auto, or leave out the recipe{source}"
        raise UsageError(f"--recipe {args.recipe} trains {arch}, not {args.arch}: {way_out}")
    args.arch = arch
