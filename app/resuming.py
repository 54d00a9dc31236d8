"""``app.train --resume RUN_DIR``: the settings of a run that was broken off, and its last checkpoint.

args = resumed(build_parser, argv, Path(args.resume))
state = last_checkpoint(Path(args.resume))          # None: begin at the beginning, in the same folder
"""

import argparse
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.errors import UsageError
from app.run_lock import hold
from app.settings import NOT_SETTINGS, parse

# What a run may go on with differently; all else would make it another training.
FREE = ("workers", "device", "export", "checkpoint_every", "patience")
PATHS = ("source", "csv", "data_dir", "output")
ALONE = {"config": "--config", "dry_run": "--dry-run", "list_archs": "--list-archs"}


def resumed(build_parser: Callable[[], argparse.ArgumentParser], argv: list[str], folder: Path) -> Namespace:
    """The settings in the ``args.yaml`` of `folder`, under those flags of `argv` that may change.

    Raises
    ------
    UsageError
        There is no run in `folder`, or another process is training it; or a flag differs from what the run began with.
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


def last_checkpoint(folder: Path, classes: list[str]) -> dict[str, Any] | None:
    """The last checkpoint of the run in `folder`, or None when it has come to none yet.

    Raises
    ------
    UsageError
        It was made with other classes than the data set has now.
    CheckpointError
        It is damaged.
    """
    from app import report
    from callbacks.checkpoint import LAST
    from callbacks.checkpoint_file import read_checkpoint
    from callbacks.whole_file import sweep

    path = folder / "checkpoints" / LAST
    for written_to in (folder, path.parent):
        sweep(written_to)
    if not path.exists():
        report.say("no checkpoint yet: the run begins again")
        return None
    state = read_checkpoint(path)
    if state["classes"] != classes:
        raise UsageError(
            f"--resume {folder}: the data set has other classes now ({', '.join(classes[:10])}) "
            f"than the run ({', '.join(state['classes'][:10])}): start a new one"
        )
    return state


def _given(parser: argparse.ArgumentParser, argv: list[str]) -> dict[str, Any]:
    """The values of the flags that are on the command line."""
    for action in parser._actions:
        action.default = argparse.SUPPRESS
    return vars(parser.parse_args(argv))


def _comparable(name: str, value: Any) -> Any:
    if name in PATHS and isinstance(value, str):
        return Path(value).resolve()
    return value
