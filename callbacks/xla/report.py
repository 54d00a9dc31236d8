"""Per epoch what XLA compiled and transferred, and a word when it compiles where nothing new should be.

learn.fit_one_cycle(3, cbs=[EpochTimer(), XLAMetrics(), TensorBoard("runs/today"), XLA()])
"""

from collections.abc import Callable

from callbacks.timing import RowCallback
from callbacks.xla import counters, runtime

# Of each fit: whole and partial batches, training and validation are compiled in the first epoch; the first step finds
# no gradients and no averages of them, so that the second has another graph. When fewer parameters are trained than
# before, as `callbacks.linear_decay` has it, all graphs of training are new once more.
WARM_EPOCHS, WARM_STEPS = 1, 3


class XLAMetrics(RowCallback):
    """Adds numbers to the epoch's row under names that begin with ``xla/``, as TensorBoard has them.

    Needs `callbacks.timing.EpochTimer` on the same Learner, and `callbacks.xla.XLA`.

    Parameters
    ----------
    notice
        Takes a sentence when a graph is compiled after the first epoch of a fit: what differs from batch to
        batch, a shape or a number, makes XLA slow.

    Attributes
    ----------
    late : list[tuple[int, int]]
        Epoch and training step, both counted over the run, of such compilations.
    """

    order = 58  # after EpochTimer (55) has made the row, and GraphCut (55) has run the batch; before what shows the row

    def __init__(self, notice: Callable[[str], None] | None = None):
        self.notice, self.late = notice, []
        self._epochs, self._before, self._compiled, self._trained = 0, None, 0, 0

    def before_fit(self):
        self.run = not hasattr(self.learn, "lr_finder")
        self._epochs = 0

    def before_epoch(self):
        self._before = counters.count() if runtime.installed() else None
        self._compiled = self._before.compiles if self._before else 0
        self._trained = self._count_trained()

    def after_batch(self):
        if self._before is not None:
            self._look()

    def on_row(self, row: dict) -> None:
        if self._before is None:
            return
        self._look()
        self._epochs += 1
        spent = counters.count() - self._before
        row |= {
            "xla/compiles": spent.compiles,
            "xla/compiles_cached": spent.cached,
            "xla/compile_seconds": spent.compile_seconds,
            "xla/transfers_from_device": spent.from_device,
            "xla/transfers_to_device": spent.to_device,
            "xla/images_per_second_per_device": row["images_per_second"] / runtime.start(),
        }

    def _look(self) -> None:
        now = counters.compiles()
        new, self._compiled = now - self._compiled, now
        if not new:
            return
        before, self._trained = self._trained, self._count_trained()
        if before != self._trained:
            self._epochs = 0
        timer = self.learn.epoch_timer
        if self._epochs >= WARM_EPOCHS and self.learn.train_iter > WARM_STEPS:
            self.late.append((timer.run_epoch, timer.run_step))
            part = "training" if self.learn.training else "validation"
            if self.notice is not None:
                self.notice(
                    f"XLA compiled {new} graph{'' if new == 1 else 's'} in {part}, epoch {timer.run_epoch}, "
                    f"step {timer.run_step}, where all should be known"
                )

    def _count_trained(self) -> int:
        return sum(parameter.requires_grad for parameter in self.learn.model.parameters())
