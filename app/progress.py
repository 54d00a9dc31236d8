"""A progress bar on standard error, for a person: nothing where it is a file or a pipe.

with progress_bar("files") as progress:
    work(progress=progress)                 # calls progress(done, total)
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

QUIET_SECONDS = 0.5  # what is over sooner shows no bar


@contextmanager
def progress_bar(unit: str) -> Iterator[Callable[[int, int], None] | None]:
    """Yield what to call as ``progress(done, total)``, or None when nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    from tqdm import tqdm

    with tqdm(unit=f" {unit}", delay=QUIET_SECONDS, leave=False, file=sys.stderr) as bar:

        def progress(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield progress
