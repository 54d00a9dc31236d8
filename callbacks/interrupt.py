"""Ctrl-C ends the batch, not the program: what was learned so far can still be saved.

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


class Interruptible(Callback):
    """Within `caught`, the first Ctrl-C cancels the fit at the end of its batch; a second is not caught."""

    order = 70  # last: the batch's own callbacks have done their work

    def __init__(self):
        self.requested = False

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Turn SIGINT into a request, while inside; the former handler is always put back."""
        former = signal.getsignal(signal.SIGINT)
        in_main_thread = threading.current_thread() is threading.main_thread()  # signals come there alone
        if not in_main_thread or former == signal.SIG_IGN:  # ignored: a job in the background of a script
            yield
            return

        def request(signum: int, frame: object) -> None:
            self.requested = True
            signal.signal(signal.SIGINT, former)
            # os.write: a print that the signal came into the middle of cannot be entered again.
            os.write(2, b"\nstopping after this batch; Ctrl-C again stops at once, and saves nothing\n")

        signal.signal(signal.SIGINT, request)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, former)

    def before_fit(self):
        if self.requested:  # asked for between two fits
            raise CancelFitException

    def after_batch(self):
        if self.requested:
            raise CancelFitException
