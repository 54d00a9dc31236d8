"""Run fastai's learning rate finder, and keep its plot.

rate = find_rate(learn, folder)             # writes folder/lr_find.png
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import fastai.callback.schedule  # noqa: F401  gives Learner lr_find
import matplotlib
from fastai.learner import Learner

from app import report
from app.errors import UsageError
from app.outputs import written
from app.progress import progress_bar
from callbacks.batch_progress import BatchProgress

STEPS = 100  # fastai's default


def find_rate(learn: Learner, folder: Path) -> float:
    """The finder's valley (Smith 2015; fastai's `SuggestionMethod.Valley`); the weights are put back.

    Raises
    ------
    UsageError
        The loss exploded too soon for a suggestion.
    """
    matplotlib.use("Agg")  # no window
    from matplotlib import pyplot

    report.say(f"finding the learning rate: up to {STEPS} steps at growing rates, on weights that are put back")
    try:
        with progress_bar("steps") as progress, learn.added_cbs(told(learn, progress)):
            rate = float(learn.lr_find(num_it=STEPS, show_plot=True).valley)
    except (IndexError, ValueError) as error:
        raise UsageError("--lr find: the loss exploded before a rate could be suggested; give a number") from error
    finally:
        shutil.rmtree(learn.path / learn.model_dir, ignore_errors=True)  # where the finder keeps the weights
    plot = folder / "lr_find.png"
    with written(plot) as partial:
        pyplot.savefig(partial, format="png")
    pyplot.close("all")
    report.say(f"learning rate {rate:.3g}, suggested by the finder ({plot})")
    return rate


def told(learn: Learner, progress: Callable[[int, int], None] | None) -> BatchProgress:
    """What calls `progress` with the steps done and `STEPS`; of an epoch there may be fewer."""
    return BatchProgress(progress and (lambda *_: progress(learn.train_iter, STEPS)))
