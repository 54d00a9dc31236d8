"""The console script: ``fastsight train data/`` is ``python -m app train data/`` and ``python -m app.train data/``."""

import sys
from importlib import import_module

from app.errors import USAGE, run

COMMANDS = {
    "train": "train a classifier and export it",
    "predict": "predict the class of images",
    "evaluate": "measure how good a model is on labelled images",
    "runs": "list the runs of a folder",
    "export": "write a trained model in another form",
    "audit": "say what is wrong with a data set",
    "devices": "report what there is to train on, and what pays there",
    "benchmark": "compare two ways to train",
}


def main() -> int:
    """Hand the rest of the command line to the command named first."""
    return run(_dispatch)


def _dispatch(words: list[str]) -> int:
    if words and words[0] in COMMANDS:
        return import_module(f"app.{words[0]}").main(words[1:])
    if words and words[0] == "--version":
        from importlib.metadata import version

        print(f"fastsight {version('fastsight')}")
        return 0
    lines = "\n".join(f"  fastsight {name:<9} {text}" for name, text in COMMANDS.items())
    usage = f"usage: fastsight COMMAND ...\n\n{lines}\n\nfastsight COMMAND --help tells more"
    if words and words[0] in ("-h", "--help"):
        print(usage)
        return 0
    print(f"error: {'no command given' if not words else f'unknown command {words[0]!r}'}\n{usage}", file=sys.stderr)
    return USAGE
