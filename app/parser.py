"""The argument parser that all commands use.

parser = Parser(prog="python -m app.predict", description="Predict the class of images.")
"""

import argparse

from app.errors import UsageError


class HelpFormatter(argparse.ArgumentDefaultsHelpFormatter):
    """Shows a flag's default unless it is None, where the help text says what happens."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return action.help if action.default in (None, False) else super()._get_help_string(action)


class Parser(argparse.ArgumentParser):
    """An argument parser as all commands use it: no abbreviated flags, `--debug`, one line per error."""

    def __init__(self, **options: object):
        super().__init__(allow_abbrev=False, formatter_class=HelpFormatter, **options)
        self.add_argument("--debug", action="store_true", help="show the traceback when something fails")

    def error(self, message: str) -> None:
        raise UsageError(f"{message} (see {self.prog} --help)")
