"""The classes of layers in torchvision's and timm's classifiers, by name, as a pickle gives them.

python -m models.network_classes > models/network_classes.txt       # after an update of either

The names are written down instead of looked up, so that reading a pickle imports nothing for it, and so that an
update does not change what is allowed unseen.
"""

import sys
from pathlib import Path

LIST = Path(__file__).with_name("network_classes.txt")
PACKAGES = ("torchvision.models.", "torchvision.ops.misc.", "torchvision.ops.stochastic_depth.", "timm.layers.")
PACKAGES += ("timm.models.",)
# Wrappers that take any network apart, and kinds of networks that are no classifiers.
LEFT_OUT = ("timm.models._features", "timm.models._pruned", "torchvision.models.feature_extraction")
NO_CLASSIFIERS = ("detection", "optical_flow", "quantization", "segmentation", "video")


def listed() -> frozenset[tuple[str, str]]:
    """The names in the list: module and class."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return frozenset((module, name) for module, name in (line.split() for line in lines))


def installed() -> list[tuple[str, str]]:
    """What the installed versions have, sorted."""
    import timm  # noqa: F401  imports all its models
    import torchvision  # noqa: F401
    from torch import nn

    found = set()
    for module in [module for name, module in sys.modules.items() if f"{name}.".startswith(PACKAGES)]:
        parts = module.__name__.split(".")
        if module.__name__.startswith(LEFT_OUT) or set(parts) & set(NO_CLASSIFIERS):
            continue
        for name, kind in vars(module).items():
            if isinstance(kind, type) and issubclass(kind, nn.Module) and kind.__module__ == module.__name__:
                found.add((module.__name__, name))
    return sorted(found)


if __name__ == "__main__":
    print("\n".join(" ".join(pair) for pair in installed()))
