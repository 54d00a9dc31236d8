"""What a network wants, settled before any image is loaded: size, statistics, and training defaults.

chosen = spec("auto", scan)
chosen.arch.name, chosen.image_size, chosen.recipe.epochs
"""

from dataclasses import dataclass, replace
from typing import Any

from models.architectures import Architecture, find
from models.inputs import smallest_size, stats_and_size

SMALL_SIDE = 64  # px; images up to here get a network that looks at 32 px
SMALL_SIZE = 32
AUTO_SMALL, AUTO_LARGE = "resnet20_cifar", "tf_efficientnet_lite0"
AUTO_LARGE_SIZE = 224  # px, timm's for it; a test holds them together


@dataclass(frozen=True)
class Recipe:
    """Training defaults. ``lr`` is the peak of the schedule, by optimizer; ``train_bn`` is fastai's word."""

    epochs: int
    freeze_epochs: int
    batch_size: int
    lr: dict[str, float]
    wd: dict[str, float]
    train_bn: bool = True
    opt: str = "adam"
    label_smoothing: float = 0.0
    aug: str = "auto"


# Of Jordan 2024 (arXiv 2404.00498) but for the optimizer, and the epochs that CIFAR-10 takes to 94, 95 and 96%.
AIRBENCH = Recipe(
    12,
    0,
    2000,
    {"muon": 0.24, "adam": 4e-3, "sgd": 0.1},
    {"muon": 4e-3, "adam": 1e-2, "sgd": 5e-4},
    opt="muon",
    label_smoothing=0.2,
)
# One line per kind of architecture: the numbers to change when a kind trains badly.
RECIPES = {
    "cifar": Recipe(12, 0, 64, {"adam": 4e-3, "sgd": 0.1}, {"adam": 1e-2, "sgd": 5e-4}),
    "airbench94_cifar": replace(AIRBENCH, aug="airbench94"),
    "airbench95_cifar": replace(AIRBENCH, aug="airbench95", epochs=15),
    "airbench96_cifar": replace(AIRBENCH, aug="airbench96", epochs=40),
    # On 244 photos at 224 px, one epoch after a probe of 0.948: 0.915 at 3e-4, 0.935 at 1e-4, 0.948 at 3e-5 (Adam).
    "probed": Recipe(1, 0, 32, {"adam": 3e-5, "sgd": 3e-4}, {"adam": 1e-2, "sgd": 1e-4}, train_bn=False),
    "pretrained": Recipe(3, 1, 32, {"adam": 2e-3, "sgd": 2e-2}, {"adam": 1e-2, "sgd": 1e-4}),
    "scratch": Recipe(20, 0, 32, {"adam": 1e-3, "sgd": 5e-2}, {"adam": 1e-2, "sgd": 5e-4}),
}


@dataclass(frozen=True)
class Spec:
    """What the data are made into and the network is built from.

    ``image_size`` is the side in pixels of the square the network sees; ``mean`` and ``std`` are per
    channel for values in [0, 1]; ``classes`` are the names of the outputs, in their order. ``probe`` says
    whether training begins with a linear probe, for which the head is one linear layer.
    """

    arch: Architecture
    pretrained: bool
    image_size: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    classes: tuple[str, ...]
    recipe: Recipe
    probe: bool = False


def spec(arch: str, scan: Any, *, image_size: int | None = None, pretrained: bool = True, probe: bool = False) -> Spec:
    """Settle what `arch` wants for the images that `scan` found.

    Parameters
    ----------
    arch
        A name (`models.architectures.find`), or ``auto``: a small residual network for images up to 64
        pixels, else a pretrained EfficientNet-Lite0, whose weights are installed with the project.
    scan
        Any object with ``side`` (pixels), ``classes`` and ``stats`` (mean and deviation, or None).
    image_size
        Pixels; None takes 32 for images up to 64 pixels where the architecture allows it, else the
        architecture's own.
    pretrained
        Start from published weights where the architecture has any.
    probe
        Begin with a linear probe where there are such weights.

    Raises
    ------
    ModelError
        Unknown architecture.
    """
    small = scan.side <= SMALL_SIDE
    if arch == "auto":
        arch = AUTO_SMALL if small else AUTO_LARGE
    found = find(arch)
    mean, std, size = stats_and_size(found)
    pretrained = pretrained and found.family in ("torchvision", "timm")
    if small and smallest_size(found) <= SMALL_SIZE:
        size = SMALL_SIZE
    if not pretrained and scan.stats is not None:
        mean, std = scan.stats  # weights from elsewhere tie a network to its own statistics; none do here
    probe = probe and pretrained
    kind = "cifar" if found.family == "cifar" else "probed" if probe else "pretrained" if pretrained else "scratch"
    return Spec(
        arch=found,
        pretrained=pretrained,
        image_size=image_size or size,
        mean=tuple(mean),
        std=tuple(std),
        classes=tuple(scan.classes),
        recipe=RECIPES.get(found.name) or RECIPES[kind],
        probe=probe,
    )
