"""The user's own network, by the place of the callable that builds it.

build = load_own("nets.small:build")        # nets/small.py in the working directory, or installed
network = build(10)
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from models.errors import ModelError, did_you_mean, reason_of

if TYPE_CHECKING:
    from torch import nn


def load_own(name: str) -> Callable[[int], nn.Module]:
    """Import `package.module:callable`; called with the number of classes, it gives the network.

    The module is looked up among the installed ones and in the current working directory. That
    directory goes to the end of `sys.path`, so that no file in it hides an installed package, and
    stays there, because the callable may import its neighbours when it is called.

    Raises
    ------
    ModelError
        When `name` has another form, the module is not there or raises while it is imported, or
        the attribute is not there or cannot be called.
    """
    module_name, _, attribute = name.partition(":")
    if not all(part.isidentifier() for part in [*module_name.split("."), attribute]):
        raise ModelError(f"architecture {name!r} is not of the form package.module:callable")
    look_in_working_directory()
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # the user's code may raise anything, or exit
        absent = error.name if isinstance(error, ModuleNotFoundError) else None
        if absent and f"{module_name}.".startswith(f"{absent}."):  # it, not what it imports
            problem = f"no module {absent!r} here or among the installed packages"
        else:
            problem = f"importing {module_name!r} raised {type(error).__name__}: {reason_of(error, None)}"
        raise ModelError(f"architecture {name!r}: {problem}") from error
    if not hasattr(module, attribute):
        hint = did_you_mean(attribute, vars(module))
        raise ModelError(f"architecture {name!r}: module {module_name!r} has no {attribute!r}{hint}")
    build = getattr(module, attribute)
    if not callable(build):
        raise ModelError(
            f"architecture {name!r}: {attribute!r} is of type {type(build).__name__} and cannot "
            "be called with the number of classes"
        )
    return build


def look_in_working_directory() -> None:
    """Let modules in the working directory be imported, after all others; a console script leaves it out."""
    if not {"", os.getcwd()} & set(sys.path):  # "" also stands for the working directory
        sys.path.append(os.getcwd())
