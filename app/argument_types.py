"""What a flag's value may be: each function takes the text and raises what argparse turns into one line.

parser.add_argument("--epochs", type=positive(int))
"""

import argparse
import os
from collections.abc import Callable

# Counts beyond this are slips, and from 2**63 on torch refuses them; rates are float32 in the optimizer.
LARGEST = {int: 10**9, float: 3.4e38}
SMALLEST = {int: 1, float: 1.2e-38}
LAST_GPU = 127  # torch keeps the number in eight bits


def positive(kind: type, zero: bool = False) -> Callable[[str], float]:
    """An argument type: `kind` (int or float), above zero or not below it, and finite as a float32."""

    def parse(text: str) -> float:
        value = kind(text)
        if not (value >= 0 if zero else value > 0) or value == float("inf"):
            raise argparse.ArgumentTypeError(f"{text} is not {'zero or more' if zero else 'above zero'}")
        if value > LARGEST[kind]:
            raise argparse.ArgumentTypeError(f"{text} is too large: the limit is {LARGEST[kind]}")
        if 0 < value < SMALLEST[kind]:
            raise argparse.ArgumentTypeError(f"{text} is too small: the limit is {SMALLEST[kind]}")
        return value

    parse.__name__ = kind.__name__  # argparse names the type in its message
    return parse


def within(kind: type, least: float, most: float) -> Callable[[str], float]:
    """An argument type: `kind` (int or float) from `least` to `most`, both included."""

    def parse(text: str) -> float:
        value = kind(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text} is not between {least} and {most}")
        return value

    parse.__name__ = kind.__name__
    return parse


def source_name(text: str) -> str:
    """A folder; or CIFAR-10, however it is spelt, where no folder has that name."""
    return "cifar10" if text.lower() in ("cifar10", "cifar-10") and not os.path.exists(text) else text


def columns(text: str) -> list[str]:
    """Two or three different names, separated by commas."""
    names = [name.strip() for name in text.split(",")]
    if len(names) not in (2, 3) or not all(names) or len(set(names)) != len(names):
        raise argparse.ArgumentTypeError(f"{text!r} is not two or three column names, such as path,label,split")
    return names


def batch_size(text: str) -> int | str:
    """``auto``, or a whole number from 2 on."""
    if text == "auto":
        return text
    value = int(text)
    if value < 2:
        raise argparse.ArgumentTypeError(f"{text}: batch normalisation needs two images or more")
    return positive(int)(text)


batch_size.__name__ = "int"


def learning_rate(text: str) -> float | str:
    """``find``, or a finite number above zero."""
    if text == "find":
        return text
    try:
        return positive(float)(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor 'find'") from None


def share(text: str) -> float:
    """A number between 0 and 1, both excluded."""
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return value


share.__name__ = "float"


def device(text: str) -> str:
    """A device by torch's name, ``auto`` or ``xla``; whether it is there is seen later."""
    if text in ("auto", "cpu", "cuda", "mps", "xla"):
        return text
    number = text.removeprefix("cuda:")
    if text.startswith("cuda:") and number.isascii() and number.isdigit():
        number = number.lstrip("0") or "0"
        if len(number) > len(str(LAST_GPU)) or int(number) > LAST_GPU:
            raise argparse.ArgumentTypeError(f"{text}: GPUs are numbered from 0 to {LAST_GPU}")
        return f"cuda:{number}"
    raise argparse.ArgumentTypeError(f"{text!r} is none of auto, cpu, cuda, cuda:N, mps, xla")
