"""Where a run writes: a new folder each time, never inside the data set; what it keeps of itself, and its export.

folder = new_run_folder(Path("runs"), "resnet20_cifar", 32, "first try")
# runs/20260102-030405-resnet20_cifar-32-first-try/
"""

import csv
import json
import os
import platform
import re
import shutil
import time
import zipfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from app.errors import UsageError, running
from app.outputs import written
from app.settings import dump
from models.sidecar import beside, is_ours

PACKAGES = ("fastsight", "fastai", "torch", "torchvision", "torch_xla", "timm", "tensorboard", "pillow", "numpy")
ENVIRONMENT = "environment.json"
OTHER_FORMS = (".safetensors", ".json", ".onnx")
ATTEMPTS = 100  # runs that start within one second


def check_outputs(source: str | None, output: Path, export: Path) -> None:
    """Refuse, before anything is read, what could not be written at the end.

    Raises
    ------
    UsageError
        The run folder or the export would lie inside the data set, or cannot be written.
    """
    for flag, path in (("--output", output), ("--export", export)):
        # Beside a CSV that is given alone is not inside the data: what it does not name is no image of it.
        if source is not None and Path(source).is_dir() and _inside(path, Path(source)):
            raise UsageError(
                f"{flag} {path} lies inside the data set {source}: nothing is written there, choose another"
            )
    if export.is_dir():
        raise UsageError(f"--export {export} is a folder: give a file name such as {export / 'model.pkl'}")
    if export.is_file() and export.stat().st_size and not zipfile.is_zipfile(export):
        raise UsageError(f"--export {export} is there already and no model: choose another name")
    if export.suffix in OTHER_FORMS:
        raise UsageError(f"--export {export} is written beside a .pkl of that name: give {export.with_suffix('.pkl')}")
    for path in beside(export):
        if path.exists() and not is_ours(path):
            raise UsageError(f"--export {export}: {path} is there already and no part of a model: choose another name")
    if os.fsencode(output).decode("utf-8", "ignore") != str(output):
        raise UsageError(f"--output {output} is not valid UTF-8, which TensorBoard cannot write to: choose another")
    if os.path.lexists(output) and not output.is_dir():
        raise UsageError(f"--output {output} is {'a file' if output.exists() else 'a dangling link'}: give a folder")
    for flag, path in (("--output", output), ("--export", export.parent)):
        existing = next(parent for parent in (path.absolute(), *path.absolute().parents) if parent.exists())
        if not (existing.is_dir() and os.access(existing, os.W_OK)):
            raise UsageError(f"{flag}: {existing} cannot be written: choose another place")


def new_run_folder(output: Path, arch: str, size: int, name: str | None) -> Path:
    """Make ``<output>/<time>-<arch>-<size>[-name]``, which did not exist before."""
    parts = [time.strftime("%Y%m%d-%H%M%S"), _plain(arch), str(size), *([_plain(name)] if name else [])]
    for attempt in range(ATTEMPTS):
        folder = output / "-".join(parts + ([str(attempt + 1)] if attempt else []))
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            continue
    raise UsageError(f"--output {output}: {ATTEMPTS} runs of this second exist already")


def versions() -> dict[str, str]:
    """The versions of what a run depends on, without importing any of it."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def write_run(
    folder: Path, settings: dict[str, Any], device: object, reason: str, skipped: list[tuple[Path, str]]
) -> None:
    """Write ``args.yaml``, ``environment.json``, and ``skipped.csv``: each file left out, and why."""
    dump(folder / "args.yaml", settings)
    write_environment(folder, str(device), reason)
    # surrogateescape: a file's name need not be valid Unicode.
    with (
        written(folder / "skipped.csv") as partial,
        partial.open("w", newline="", encoding="utf-8", errors="surrogateescape") as stream,
    ):
        csv.writer(stream).writerows([("file", "reason"), *skipped])


@running()
def copy_export(model: Path, export: Path) -> bool:
    """Copy the run's bundle to where the user wants it; each file complete or not at all, the pickle first.

    Return whether a model was there before.
    """
    replaced = export.exists()
    try:
        export.parent.mkdir(parents=True, exist_ok=True)
        for source, target in ((model, export), *zip(beside(model), beside(export))):
            with written(target) as path:
                shutil.copyfile(source, path)
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror} (the model is safe in {model})", str(export)) from error
    return replaced


def write_environment(folder: Path, device: str, reason: str) -> None:
    """Write ``environment.json``: versions, platform, the device and why it was taken."""
    content = {"versions": versions(), "platform": platform.platform(), "device": device, "device_reason": reason}
    with written(folder / ENVIRONMENT) as partial:
        partial.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _inside(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _plain(text: str) -> str:
    return re.sub(r"[^\w.]+", "-", text).strip("-") or "run"
