"""The argument parser that all commands use.

parser = Parser(prog="python -m app.predict", description="Predict the class of images.")
"""

import argparse
import sys
from difflib import get_close_matches
from typing import TextIO

from app.errors import UsageError

MEANT = 0.7  # how alike a flag must be to what was typed, of 1, to be suggested


class HelpFormatter(argparse.ArgumentDefaultsHelpFormatter):
    """Shows a flag's default unless it is None, where the help text says what happens."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return action.help if action.default in (None, False) else super()._get_help_string(action)


class Parser(argparse.ArgumentParser):
    """An argument parser as all commands use it: no abbreviated flags, `--debug`, one line per error."""

    def __init__(self, **options: object):
        super().__init__(allow_abbrev=False, formatter_class=HelpFormatter, **options)
        self.add_argument("--debug", action="store_true", help="show the traceback when something fails")

    def parse_args(self, args=None, namespace=None) -> argparse.Namespace:
        """As argparse does it; an unknown flag is answered with the one that was probably meant."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            said = f"unrecognized arguments: {' '.join(unknown)}"
            flag = next((word.partition("=")[0] for word in unknown if word.startswith("--")), None)
            self.error(said + (self._meant(flag) if flag else ""))
        return found

    def _meant(self, flag: str) -> str:
        flags = list(self._option_string_actions)
        found = [name for name in flags if name.startswith(flag)] or get_close_matches(flag, flags, 1, MEANT)
        return f", did you mean {found[0]}?" if found else ""

    def _print_message(self, message: str, file: TextIO | None = None) -> None:
        """As argparse does it, but a reader that has gone is no success: long help is written before the exit."""
        if message:
            (file or sys.stderr).write(message)

    def error(self, message: str) -> None:
        raise UsageError(f"{message} (see {self.prog} --help)")
