"""What ``app.train`` says.

Talk goes to standard error; results (the epochs' rows, the end) to standard output.
"""

import os
import sys
from argparse import Namespace
from collections import Counter
from pathlib import Path
from typing import Any

from app.outputs import printable
from app.run_folder import versions
from app.terminal import shell_word
from data import Scan
from data.counting import counted
from models import Spec

SAID_PACKAGES = ("python", "fastai", "torch", "torchvision", "timm")


def say(text: str) -> None:
    """One line of talk."""
    print(printable(text), file=sys.stderr, flush=True)


def tell(text: str) -> None:
    """One line of results. Where nobody reads them any more (``| head``), the training goes on without."""
    try:
        print(printable(text), flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        warn(f"results cannot be written any more ({error.strerror}): the training goes on without")


def warn(text: str) -> None:
    """One line that the user should not miss."""
    say(f"warning: {text}")


def say_versions() -> None:
    """The versions that matter when two runs differ."""
    found = versions()
    say(", ".join(f"{name} {found[name]}" for name in SAID_PACKAGES if name in found))


def say_scan(scan: Scan) -> None:
    """What the source holds."""
    names = ", ".join(scan.classes[:10]) + (", ..." if len(scan.classes) > 10 else "")
    images = f"{len(scan.train)} training and {counted(len(scan.valid), 'validation image')}"
    say(f"data: {scan.source} ({scan.layout}): {images}")
    say(f"classes: {len(scan.classes)} ({names})")
    for notice in scan.notices:
        warn(notice)
    if scan.findings:
        counts = Counter(finding.severity for finding in scan.findings)
        said = f"files left out: {len(scan.skipped)}, warnings: {counts['warning']}, notes: {counts['note']}"
        say(f"audit: {said} (python -m app.audit shows all, and draws them)")


def say_spec(spec: Spec, settings: dict[str, Any]) -> None:
    """What is trained, and how."""
    weights = "pretrained" if spec.pretrained else "from scratch"
    rate = "to be found" if settings["lr"] == "find" else settings["lr"]
    parts = ["probe"] if settings["probe"] else []
    parts += [f"{settings['freeze_epochs']} frozen"] if settings["freeze_epochs"] else []
    epochs = counted(settings["epochs"], "epoch")
    say(f"model: {spec.arch.name} ({weights}) at {spec.image_size} px")
    say(
        f"training: {' + '.join([*parts, epochs])}, batch size {settings['batch_size']}, {settings['opt']}, "
        f"learning rate {rate}, weight decay {settings['wd']}, seed {settings['seed']}"
    )


def say_kept(best: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """Say so when the epochs after a probe were in vain."""
    if best["phase"] == "probe" and len(rows) > 1:
        say(
            f"the probe is kept: its accuracy was {best['accuracy']:.4f}, after fine-tuning {rows[-1]['accuracy']:.4f} "
            f"(loss {best['valid_loss']:.4f} and {rows[-1]['valid_loss']:.4f}); fewer --epochs or a lower --lr may help"
        )


def say_interrupted(folder: Path, best: dict[str, Any] | None, steps: int) -> None:
    """What was saved of an interrupted run: the best epoch, else the weights after so many steps, if any."""
    model = folder / "model.pkl"
    if best is not None:
        say(f"interrupted: the best so far ({_when(best)}) is in {model}")
    elif steps:
        after = f"the weights after {counted(steps, 'step')}, never validated"
        say(f"interrupted before the first epoch ended: {model} has {after}")
    else:
        say("interrupted before the first step: there is no model")
    say_resume(folder)


def say_best(folder: Path, best: dict[str, Any]) -> None:
    """What was saved of a run that failed."""
    say(f"the best so far ({_when(best)}) is in {folder / 'model.pkl'}")


def say_resume(folder: Path) -> None:
    """How to go on with a run that was broken off."""
    say(f"to go on: python -m app.train --resume {shell_word(folder)}")


def say_end(
    scan: Scan,
    spec: Spec,
    folder: Path,
    args: Namespace,
    best: dict[str, Any],
    seconds: float,
    *,
    replaced: bool = False,
) -> None:
    """The result, and what to run next; `replaced`: the export took the place of an older file."""
    export, sample = Path(args.export), scan.valid[0].source
    image = shell_word(sample) if isinstance(sample, Path) else "IMAGE"
    reached = f"accuracy {best['accuracy']:.4f}"
    if args.monitor != "accuracy":
        column = {"loss": "valid_loss"}.get(args.monitor, args.monitor)
        reached = f"{args.monitor} {best[column]:.4f}, {reached}"
    tell(f"best {reached} ({_when(best)}), {seconds:.0f} s {'since it was resumed' if args.resume else 'in all'}")
    tell(f"model: {export}{' replaces an older one' if replaced else ''} (also {folder / 'model.pkl'})")
    trust = "--trust " if spec.arch.family == "own" else ""  # its module is imported
    tell(f"predict: python -m app.predict {trust}{shell_word(export)} {image}")
    logs = shell_word(Path(args.output))
    tell(f"dashboard: tensorboard --logdir {logs}, then http://localhost:6006/#custom_scalars")


def _when(row: dict[str, Any]) -> str:
    return "probe" if row["phase"] == "probe" else f"epoch {row['epoch']}"
