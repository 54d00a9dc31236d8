"""What is made ahead: the same items, the same errors, and no thread that stays.

python -m pytest tests/data/test_prefetch.py
"""

import threading
import time

import pytest

from data.prefetch import prefetched


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "prefetch"]


def test_items_come_in_order_and_the_thread_ends():
    assert list(prefetched((n for n in range(50)), 3)) == list(range(50))
    assert threads() == []


def test_they_are_made_in_another_thread_and_not_too_far_ahead():
    made = []

    def items():
        for number in range(20):
            made.append(threading.current_thread().name)
            yield number

    found = prefetched(items(), 2)
    assert next(found) == 0
    time.sleep(0.2)
    assert len(made) <= 4  # the one given, two ahead, and one in hand
    assert set(made) == {"prefetch"}
    found.close()


def test_an_error_comes_after_the_items_before_it():
    def items():
        yield 1
        yield 2
        raise KeyError("three")

    found = prefetched(items(), 2)
    assert [next(found), next(found)] == [1, 2]
    with pytest.raises(KeyError, match="three"):
        next(found)
    assert threads() == []


@pytest.mark.parametrize("taken", [0, 1, 3])
def test_giving_up_closes_the_source_and_ends_the_thread(taken):
    closed = threading.Event()

    def items():
        try:
            yield from range(10**9)
        finally:
            closed.set()

    found = prefetched(items(), 2)
    for _ in range(taken):
        next(found)
    found.close()
    assert threads() == []
    assert closed.is_set() == bool(taken)  # nothing begins before the first is asked for


def test_the_waiting_is_saved():
    def items():
        for number in range(5):
            time.sleep(0.05)
            yield number

    started = time.perf_counter()
    for _ in prefetched(items(), 2):
        time.sleep(0.05)
    assert time.perf_counter() - started < 0.45  # 0.5 one after the other
