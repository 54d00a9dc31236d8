"""Import, in the background, what comes after a work of seconds that leaves a core or the interpreter idle.

progress = importing_ahead("app.fitting", progress)
scan(source, progress=progress)             # from the first file on that has to be decoded
import app.fitting                          # waits for what is left of it
"""

from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from threading import Thread

Progress = Callable[[int, int], None]


def importing_ahead(module: str, progress: Progress | None) -> Progress:
    """Return a `progress` that, besides, begins to import `module` when something turns out to be left to do."""
    begun = False

    def report(done: int, total: int) -> None:
        nonlocal begun
        if not begun and done < total:
            begun = True
            # daemon: an exit does not wait for it
            Thread(target=_import, args=(module,), name=f"import {module}", daemon=True).start()
        if progress is not None:
            progress(done, total)

    return report


def _import(module: str) -> None:
    with suppress(Exception):  # the import that follows raises it again
        import_module(module)
