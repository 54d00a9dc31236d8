"""Flags and a settings file, checked by the same parser: flags win over the file.

    args = parse(parser, sys.argv[1:])          # understands --config FILE.yaml

Every key of the file is a flag's long name with underscores; every run folder's ``args.yaml`` is one.
"""

import argparse
import os
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from app.errors import UsageError
from app.outputs import written
from models.errors import brief, reason_of

LONGEST = 4096  # characters of a value: a path has no more
NOT_SETTINGS = ("help", "config", "debug", "list_archs", "dry_run", "resume")


def parse(parser: argparse.ArgumentParser, argv: list[str]) -> argparse.Namespace:
    """Parse `argv`, with the values of ``--config`` underneath.

    Raises
    ------
    UsageError
        A bad flag; or a settings file that is missing, no mapping, or has an unknown key or a bad value.
    """
    args = parser.parse_args(argv)
    if args.config is None:
        return args
    path = Path(args.config)
    values = _read(path)
    actions = {action.dest: action for action in parser._actions if action.dest not in NOT_SETTINGS}
    for key in values:
        if key not in actions:
            close = get_close_matches(str(key), actions, n=1)
            raise UsageError(f"{path}: unknown key {key!r}" + (f", did you mean {close[0]!r}?" if close else ""))
    try:
        flags = [
            token
            for key, value in values.items()
            if actions[key].option_strings
            for token in _tokens(actions[key], value)
        ]
        parser.parse_args(flags)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error
    args = parser.parse_args(flags + argv)
    for action in actions.values():  # a positional argument cannot be given twice
        if not action.option_strings and getattr(args, action.dest) is None and values.get(action.dest) is not None:
            setattr(args, action.dest, str(values[action.dest]))
    return args


def dump(path: Path, settings: dict[str, Any]) -> None:
    """Write `settings` as a file that ``--config`` takes."""
    import yaml

    with written(path) as partial:
        partial.write_text(yaml.safe_dump(settings, sort_keys=False, allow_unicode=True), encoding="utf-8")


def _read(path: Path) -> dict[str, Any]:
    import yaml  # here, since --help has to be quick

    try:
        loader = yaml.SafeLoader(path.read_text(encoding="utf-8"))
        node = loader.get_single_node()
        values = None if node is None else loader.construct_document(node)
    except OSError as error:
        raise UsageError(f"--config {path}: {error.strerror}") from error
    except Exception as error:  # beside its own errors PyYAML lets through what int(), date() and others raise
        raise UsageError(f"{path} is not YAML: {reason_of(error, None)}") from error
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise UsageError(f"{path} holds no settings: expected lines such as 'epochs: 5'")
    keys = [key.value for key, _ in node.value]
    for key in keys:
        if keys.count(key) > 1:
            raise UsageError(f"{path}: {key} is given {keys.count(key)} times")
    for key, value in values.items():
        if isinstance(value, (list, dict)):
            raise UsageError(f"{path}: {key}: expected one value, not {brief(value)}")
        if len(str(value)) > LONGEST:
            raise UsageError(f"{path}: {key}: {brief(value)} is longer than any value")
        if not _is_argument(str(value)):
            raise UsageError(f"{path}: {key}: {brief(value)} holds a character that no argument may have")
    return values


def _is_argument(text: str) -> bool:
    """Whether a command line can hold `text`: no NUL, and no surrogate but those of undecodable bytes."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _tokens(action: argparse.Action, value: Any) -> list[str]:
    """The command-line words that mean `value`; None means the default."""
    flag = action.option_strings[-1] if len(action.option_strings[0]) == 2 else action.option_strings[0]
    if value is None:
        return []
    if isinstance(action, argparse.BooleanOptionalAction):
        if not isinstance(value, bool):
            raise UsageError(f"{action.dest}: expected true or false, not {value!r}")
        return [flag if value else action.option_strings[1]]
    if isinstance(value, bool) and action.choices:
        value = "on" if value else "off"  # a bare `compile: on` is a boolean in YAML 1.1
    return [f"{flag}={value}"]
