"""Tell after each batch how many are done, in training, validation and ``get_preds`` alike.

learn.get_preds(cbs=BatchProgress(lambda done, total: print(done, "of", total)))
"""

from collections.abc import Callable

from fastai.callback.core import Callback


class BatchProgress(Callback):
    """Calls ``progress(done, total)``, each of the loader that is being run over; nothing without one."""

    order = 70  # after all that a batch needs: what takes the call may be slow

    def __init__(self, progress: Callable[[int, int], None] | None = None):
        self._progress = progress

    def after_batch(self):
        if self._progress is not None:
            self._progress(self.learn.iter + 1, self.learn.n_iter)
