"""The settings of a training with nothing left open: what the user said, else what the architecture's recipe has.

settings = settle(args, spec, scan)         # in the form of ``args.yaml``
"""

from argparse import Namespace
from pathlib import Path
from typing import Any

from app import report
from app.errors import UsageError
from app.settings import NOT_SETTINGS
from app.xla import devices_in_use
from data import Scan
from data.counting import counted
from models import Spec


def settle(args: Namespace, spec: Spec, scan: Scan) -> dict[str, Any]:
    """Every setting with the value that is used, in the form of ``args.yaml``."""
    settings = {key: value for key, value in vars(args).items() if key not in NOT_SETTINGS}
    recipe = spec.recipe
    opt = args.opt or recipe.opt
    if opt not in recipe.lr:
        raise UsageError(f"--opt {opt} is for the networks of --recipe speed: give {' or '.join(recipe.lr)}")
    chosen = {
        "source": args.source if scan.source == "cifar10" else _absolute(args.source),
        "csv": _absolute(args.csv),
        "csv_columns": args.csv_columns and ",".join(args.csv_columns),
        "arch": spec.arch.name,
        "pretrained": spec.pretrained,
        "img_size": spec.image_size,
        "probe": spec.probe,
        "epochs": recipe.epochs,
        "freeze_epochs": recipe.freeze_epochs,
        "batch_size": recipe.batch_size,
        "train_bn": recipe.train_bn,
        "xla_devices": devices_in_use(settings),
        "opt": opt,
        "lr": recipe.lr[opt],
        "wd": recipe.wd[opt],
        "label_smoothing": recipe.label_smoothing,
    }
    always = ("source", "csv", "csv_columns", "arch", "pretrained", "probe", "img_size", "xla_devices")
    settings |= {key: value for key, value in chosen.items() if key in always or settings[key] is None}
    if settings["aug"] == "auto":
        settings["aug"] = recipe.aug
    if settings["batch_size"] == "auto":  # on a GPU, `app.speed` finds another one, when there is a model
        settings["batch_size"] = recipe.batch_size
    if settings["batch_size"] > len(scan.train):
        report.warn(
            f"batch size {settings['batch_size']} is lowered: there are {counted(len(scan.train), 'training image')}"
        )
        settings["batch_size"] = len(scan.train)
    if not spec.pretrained:
        if args.pretrained:
            report.warn(f"--pretrained has no meaning for {spec.arch.name}, which has no published weights: ignored")
        given = {
            "--probe": args.probe,
            "--freeze-epochs": settings["freeze_epochs"],
            "--no-train-bn": not settings["train_bn"],
        }
        for flag in filter(given.get, given):
            report.warn(f"{flag} has no meaning without pretrained weights: ignored")
        settings |= {"freeze_epochs": 0, "train_bn": True}
    if settings["ema"] and settings["device"] == "xla":
        raise UsageError("--ema: on XLA no average of the weights is kept, leave it out")
    if settings["opt"] == "muon" and settings["lr"] == "find":  # whose steps for filters have one size at any loss
        raise UsageError("--lr find does not suit --opt muon: give a number, or leave it out")
    if not spec.probe and not settings["epochs"] + settings["freeze_epochs"]:
        raise UsageError("--epochs 0: without the probe of a pretrained network nothing would be learned")
    return settings


def _absolute(path: str | None) -> str | None:
    return None if path is None else str(Path(path).resolve())
