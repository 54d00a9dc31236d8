"""Ctrl-C and SIGTERM end the batch, not the program: what was learned so far can still be saved.

interrupt = Interruptible()
with interrupt.caught():
    learn.fine_tune(3, cbs=interrupt)
if interrupt.requested: ...
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from fastai.callback.core import Callback, CancelFitException

WORKER_DEATH = "DataLoader worker"  # how torch's message begins


class Interruptible(Callback):
    """Within `caught`, the first Ctrl-C or SIGTERM cancels the fit at the end of its batch; a second is not caught.

    Attributes
    ----------
    requested : int
        The signal's number; 0 before.
    """

    order = 70  # last: the batch's own callbacks have done their work

    def __init__(self):
        self.requested = 0

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Turn these signals into a request, while inside; the former handlers are always put back.

        Where the request reached worker processes as well, which die of it, their death is no error.
        """
        if threading.current_thread() is not threading.main_thread():  # signals come there alone
            yield
            return
        former = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        # Ignored: a job in the background of a script. None: a handler that is not Python's.
        former = {number: handler for number, handler in former.items() if handler not in (signal.SIG_IGN, None)}
        process = os.getpid()

        def put_back() -> None:
            for number, handler in former.items():
                signal.signal(number, handler)

        def request(signum: int, frame: object) -> None:
            if os.getpid() != process:  # a worker, forked with this handler: a terminal's Ctrl-C goes to all
                return
            self.requested = signum
            put_back()
            # os.write: a print that the signal came into the middle of cannot be entered again.
            again = "Ctrl-C" if signum == signal.SIGINT else signal.Signals(signum).name
            os.write(2, f"\nstopping after this batch; {again} again stops at once, and saves nothing\n".encode())

        for number in former:
            signal.signal(number, request)
        try:
            yield
        except RuntimeError as error:
            if not (self.requested and WORKER_DEATH in str(error)):
                raise
        finally:
            put_back()

    def before_fit(self):
        if self.requested:  # asked for between two fits
            raise CancelFitException

    def after_batch(self):
        if self.requested:
            raise CancelFitException
