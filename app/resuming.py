"""``app.train --resume RUN_DIR``: the settings of a run that was broken off, and its last checkpoint.

args = resumed(build_parser, argv, Path(args.resume))
state = last_checkpoint(Path(args.resume))          # None: begin at the beginning, in the same folder
"""

import argparse
import os
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.error_lines import one_line
from app.errors import UsageError
from app.run_lock import hold
from app.settings import NOT_SETTINGS, parse
from app.terminal import shell_word
from models.errors import brief

# What a run may go on with differently; all else would make it another training.
FREE = ("workers", "device", "export", "checkpoint_every", "patience")
PATHS = ("source", "csv", "data_dir", "output")
# What may have other values in args.yaml than in the checkpoint: places, and what a device settles.
UNBOUND = (*FREE, *PATHS, "weights", "cache", "name", "xla_devices", "xla_cache", "xla_metrics", "log_every")
ALONE = {"config": "--config", "dry_run": "--dry-run", "list_archs": "--list-archs"}


def resumed(build_parser: Callable[[], argparse.ArgumentParser], argv: list[str], folder: Path) -> Namespace:
    """The settings in the ``args.yaml`` of `folder`, under those flags of `argv` that may change.

    Raises
    ------
    UsageError
        There is no run in `folder`, or a damaged one, or another process is training it; or a flag differs from
        what the run began with.
    """
    file = folder / "args.yaml"
    if not folder.is_dir():
        raise UsageError(
            f"--resume {folder}: {'is a file' if folder.exists() else 'no such folder'}, give a run folder"
        )
    if not file.is_file():
        raise UsageError(f"--resume {folder}: holds no args.yaml, so no run that could go on: start a new one")
    given = _given(build_parser(), argv)
    for name, flag in ALONE.items():
        if name in given:
            raise UsageError(f"--resume and {flag} cannot be given together")
    args = parse(build_parser(), ["--config", str(file)])
    if args.source is None and args.csv is None:
        raise UsageError(f"--resume {folder}: its args.yaml names no data, so it is damaged: start a new run")
    for name, value in given.items():
        before = getattr(args, name)
        if name in FREE or name in NOT_SETTINGS:
            setattr(args, name, value)
        elif _comparable(name, value) != _comparable(name, before):
            flag = "SOURCE" if name == "source" else f"--{name.replace('_', '-')}"
            raise UsageError(
                f"--resume {folder}: {flag} {value} cannot be changed, this run has {before}; "
                f"for a new one with its settings use --config {file}"
            )
    hold(folder)
    args.output = str(folder.parent)
    return args


def last_checkpoint(folder: Path, classes: list[str], settings: dict[str, Any]) -> dict[str, Any] | None:
    """The last checkpoint of the run in `folder`, or None when it has come to none yet.

    Raises
    ------
    UsageError
        It is damaged, or was made with other settings, or other classes, than there are now.
    """
    from app import report
    from callbacks.checkpoint import LAST
    from callbacks.checkpoint_file import CheckpointError, read_checkpoint
    from callbacks.whole_file import sweep

    path = folder / "checkpoints" / LAST
    for written_to in (folder, path.parent):
        sweep(written_to)
    if not os.path.lexists(path):
        report.say("no checkpoint yet: the run begins again")
        return None
    try:
        if path.exists() and not path.is_file():
            raise CheckpointError(f"{path} is no file")
        state = read_checkpoint(path)
        if not (isinstance(state.get("args"), dict) and isinstance(state.get("classes"), list)):
            raise CheckpointError(f"{path} does not say of which training it is")
    except CheckpointError as error:
        raise unusable(folder, error) from error
    if state["classes"] != classes:
        raise UsageError(
            f"--resume {folder}: the data set has other classes now ({', '.join(classes[:10])}) "
            f"than the run ({', '.join(map(str, state['classes'][:10]))}): start a new one"
        )
    _check_settings(folder, settings, state["args"])
    return state


def unusable(folder: Path, error: Exception) -> UsageError:
    """What to say of a checkpoint from which the run in `folder` cannot go on."""
    new = f"start a new run with --config {shell_word(folder / 'args.yaml')}"
    return UsageError(f"--resume {folder}: {one_line(error)}: put back what it was, or {new}")


def _check_settings(folder: Path, now: dict[str, Any], then: dict[str, Any]) -> None:
    """Refuse settings with which another training would go on than the one that was broken off."""
    step = ("batch_size", "accumulate")  # where memory ran out, they changed together
    changed = [key for key in now if key in then and key not in (*UNBOUND, *step) and now[key] != then[key]]
    if all(isinstance(then.get(key), int) for key in step) and _images(now) != _images(then):
        changed.append("batch_size")
    if changed:
        key = changed[0]
        error = f"{key} is {brief(now[key])} in its args.yaml, and was {brief(then[key])} when the run was broken off"
        raise unusable(folder, UsageError(error))


def _images(settings: dict[str, Any]) -> int:
    return settings["batch_size"] * settings["accumulate"]


def _given(parser: argparse.ArgumentParser, argv: list[str]) -> dict[str, Any]:
    """The values of the flags that are on the command line."""
    for action in parser._actions:
        action.default = argparse.SUPPRESS
    return vars(parser.parse_args(argv))


def _comparable(name: str, value: Any) -> Any:
    if name in PATHS and isinstance(value, str):
        return Path(value).resolve()
    return value
