"""Run fastai's learning rate finder, and keep its plot.

rate = find_rate(learn, folder)             # writes folder/lr_find.png
"""

import shutil
from pathlib import Path

import matplotlib
from fastai.learner import Learner

from app import report
from app.errors import UsageError
from app.outputs import written


def find_rate(learn: Learner, folder: Path) -> float:
    """The finder's valley (Smith 2015; fastai's `SuggestionMethod.Valley`); the weights are put back.

    Raises
    ------
    UsageError
        The loss exploded too soon for a suggestion.
    """
    matplotlib.use("Agg")  # no window
    from matplotlib import pyplot

    report.say("finding the learning rate: up to 100 steps")
    try:
        rate = float(learn.lr_find(show_plot=True).valley)
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
