"""The facts of many files: from memory where nothing changed, else decoded, several at a time.

    facts = gather_facts(files, progress=lambda done, total: print(done, total))

Threads, not processes: Pillow decodes outside Python's lock, and nothing has to be started or sent.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from PIL import Image

from data.facts_cache import FactsCache, Stamp, stamp_of
from data.inspect import Facts, ends_early, inspect_file, inspect_truncated

Progress = Callable[[int, int], None]
Keep = Callable[[Path, Stamp | None, Image.Image], None]
AHEAD = 2  # threads beyond the cores, for those that wait for the disk
MAX_THREADS = 16  # each may hold a large picture


def gather_facts(
    files: Sequence[Path],
    *,
    remember: bool = True,
    cache_file: Path | None = None,
    progress: Progress | None = None,
    keep: Keep | None = None,
) -> list[Facts]:
    """Inspect `files`, each once.

    Parameters
    ----------
    files
        Paths; one that occurs twice is looked at once.
    remember
        Take facts from the cache, and put new ones there; off, every file is decoded and nothing is kept.
    cache_file
        The cache's database; None for the one in the user's cache folder.
    progress
        Called as ``progress(done, total)``, in this thread.
    keep
        Called as ``keep(path, stamp, image)`` with every image that is decoded whole, in other threads.

    Returns
    -------
    list of Facts
        In the order of `files`.
    """
    if not remember:
        return _gathered(files, None, progress, keep)
    with FactsCache(cache_file) as cache:
        return _gathered(files, cache, progress, keep)


def _gathered(
    files: Sequence[Path], cache: FactsCache | None, progress: Progress | None, keep: Keep | None
) -> list[Facts]:
    known: dict[Path, Facts] = {}
    pending: dict[Path, Stamp | None] = {}
    for path in dict.fromkeys(files):
        # Before it is read: a file that changes meanwhile has another stamp the next time.
        stamp = stamp_of(path)
        facts = cache.get(path, stamp) if cache is not None and stamp is not None else None
        if facts is None:
            pending[path] = stamp
        else:
            known[path] = facts
    total, cut = len(known) + len(pending), []
    if progress is not None:
        progress(len(known), total)
    for path, facts in _decoded(pending, keep):
        known[path] = facts
        if ends_early(facts):
            cut.append(path)
        elif cache is not None and facts.lasting and pending[path] is not None:
            cache.put(path, pending[path], facts)
        if progress is not None:
            progress(len(known), total)
    for path in cut:  # after the threads have ended
        known[path] = inspect_truncated(path, known[path])
        if cache is not None and pending[path] is not None:
            cache.put(path, pending[path], known[path])
    return [known[path] for path in files]


def _decoded(files: dict[Path, Stamp | None], keep: Keep | None) -> Iterator[tuple[Path, Facts]]:
    def inspect(path: Path) -> Facts:
        return inspect_file(path, None if keep is None else partial(keep, path, files[path]))

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = ThreadPoolExecutor(min(cores + AHEAD, MAX_THREADS))
    try:
        yield from zip(files, threads.map(inspect, files))
    finally:  # Ctrl-C waits for the files in hand, not for those in the queue
        threads.shutdown(cancel_futures=True)
