"""Import torchvision and timm without torch's compiler, which takes a second and which no prediction needs.

timm = import_lightly("timm")

torchvision asks ``torch._dynamo.utils`` for ``is_compile_supported``, which its RoI align calls (``ops/roi_align.py``,
0.24), and timm marks a few methods with ``torch.compiler.disable``, which is ``torch._dynamo.disable``
(``layers/typing.py``, 1.0.31). While they are imported, these modules are stood in for by ones that have the two
functions and fetch all else from the real ones. This file can go when both do without at import.
"""

import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from types import ModuleType
from typing import Any

PACKAGE, MODULE = "torch._dynamo", "torch._dynamo.utils"


def import_lightly(package: str) -> ModuleType:
    """Import a package; afterwards ``torch._dynamo`` is what it always is, imported by who needs it."""
    if package in sys.modules or PACKAGE in sys.modules:
        return import_module(package)
    import torch  # noqa: F401  itself, before anything stands in for a part of it

    sys.modules[PACKAGE], sys.modules[MODULE] = _StandIn(PACKAGE), _StandIn(MODULE)
    sys.modules[PACKAGE].disable = _disable
    sys.modules[MODULE].is_compile_supported = _is_compile_supported
    try:
        return import_module(package)
    finally:
        _withdraw()


def _is_compile_supported(device_type: str) -> Any:
    return import_module(MODULE).is_compile_supported(device_type)


def _disable(function: Callable | None = None, *arguments: Any, **options: Any) -> Callable:
    """``torch._dynamo.disable``, which has an effect only where something is compiled."""
    if function is None:
        return lambda function: _disable(function, *arguments, **options)

    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        if PACKAGE not in sys.modules:
            return function(*args, **named)
        return import_module(PACKAGE).disable(function, *arguments, **options)(*args, **named)

    return call


class _StandIn(ModuleType):
    """A module that gives way to the real one when it is asked for anything that it was not given."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # the import system's questions
            raise AttributeError(name)
        _withdraw()
        return getattr(import_module(self.__name__), name)


def _withdraw() -> None:
    for name in (PACKAGE, MODULE):
        if isinstance(sys.modules.get(name), _StandIn):
            del sys.modules[name]
