"""Let a thread that waits for the others sleep soon, so that it does not keep a processor from who has work to do.

sleep_while_waiting()                       # before torch is imported
"""

import os

SPINS = 1000  # what libgomp itself takes where it knows that there are more threads than processors


def sleep_while_waiting() -> None:
    """Set ``GOMP_SPINCOUNT`` for this process and its children, unless the user has said how threads shall wait.

    The threads of an operation wait for one another at its end. GCC's OpenMP, which torch uses on Linux, looks 300,000
    times before a thread goes to sleep. Where another program has a part of the processor, the thread that is waited
    for may be one that gets no turn, because those that wait take it. OpenMP knows of its own threads only.

    Source: libgomp's manual, "GOMP_SPINCOUNT". No effect on other OpenMP libraries, or once one is loaded.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", str(SPINS))
