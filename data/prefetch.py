"""Make what is going to be needed while what is there is used: an iterator, run ahead in a thread.

for batch in prefetched(make_batches(), ahead=2):
    train(batch)
"""

import queue
import threading
from collections.abc import Generator, Iterator
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")
END = object()


def prefetched(items: Generator[T, None, None], ahead: int) -> Iterator[T]:
    """Yield `items`, which are made in another thread, up to `ahead` of them in advance.

    What `items` raises is raised here. When the iteration is given up, `items` is closed, and the thread ends.
    """
    ready: queue.Queue = queue.Queue(ahead)
    stopped = threading.Event()

    def work() -> None:
        last: object = END
        try:
            for item in items:
                ready.put((item, None))
                if stopped.is_set():
                    break
        except BaseException as error:
            last = error
        finally:
            items.close()
            ready.put((END, None if last is END else last))

    thread = threading.Thread(target=work, name="prefetch", daemon=True)
    thread.start()
    try:
        while True:
            item, error = ready.get()
            if error is not None:
                raise error
            if item is END:
                return
            yield item
    finally:
        stopped.set()
        while thread.is_alive():  # it may wait for room, once for an item and once for the end
            with suppress(queue.Empty):
                ready.get(timeout=0.01)
