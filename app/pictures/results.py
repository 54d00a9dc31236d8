"""The course of a training: losses, accuracy and F1, and where the time of each epoch went.

draw_results(learn.epoch_timer.rows).savefig("results.png")
"""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator

INCHES = (11, 3.7)
BLUE, ORANGE, GREY = "#2b6cb0", "#dd6b20", "#a0aec0"
PROBE = 0  # the epoch that stands for it
MARGIN = 0.05  # of accuracy, below what was measured, so that a hundredth does not look like a leap
BELOW = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.18)}  # of a legend: there it covers no point
LINES = {
    "loss": {"train_loss": ("training", BLUE), "valid_loss": ("validation", ORANGE)},
    "quality on validation images": {"accuracy": ("accuracy", BLUE), "f1": ("macro F1", ORANGE)},
}


def draw_results(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw the rows of an `EpochTimer`, one or more; epoch 0 is the linear probe.

    The seconds of training are split into those that went by in waiting for images and the others.
    """
    figure = Figure(figsize=INCHES, layout="constrained")
    *curves, times = figure.subplots(1, 3)
    epochs = [row["epoch"] for row in rows]
    for axes, (title, lines) in zip(curves, LINES.items()):
        for column, (label, colour) in lines.items():
            points = [(row["epoch"], row[column]) for row in rows if column in row]
            axes.plot(*zip(*points), marker="o", markersize=3, color=colour, label=label)
        axes.set_title(title, fontsize="medium")
        axes.margins(y=0.1)
    curves[0].set_ylim(0, curves[0].get_ylim()[1] * (1 + MARGIN))  # where all losses are close, a point keeps its room
    low, high = curves[1].get_ylim()
    curves[1].set_ylim(max(0, low - MARGIN), min(1, high) + MARGIN / 10)
    waits = [row.get("data_wait", 0.0) for row in rows]
    steps = [row["train_seconds"] - wait for row, wait in zip(rows, waits)]
    below = [step + wait for step, wait in zip(steps, waits)]
    times.bar(epochs, steps, color=BLUE, label="training")
    times.bar(epochs, waits, bottom=steps, color=ORANGE, label="waiting for images")
    times.bar(epochs, [row["valid_seconds"] for row in rows], bottom=below, color=GREY, label="validation")
    times.set_title("seconds", fontsize="medium")
    for axes in (*curves, times):
        axes.set(xlabel="epoch", xlim=(epochs[0] - 0.6, epochs[-1] + 0.6))
        # Of one epoch, the locator finds no whole numbers.
        axes.xaxis.set_major_locator(MaxNLocator(integer=True) if len(epochs) > 1 else FixedLocator(epochs))
        axes.xaxis.set_major_formatter(lambda epoch, _: "probe" if epoch == PROBE else f"{epoch:.0f}")
        axes.legend(fontsize="small", ncols=3, columnspacing=1, handlelength=1.2, frameon=False, **BELOW)
        axes.spines[["top", "right"]].set_visible(False)
    return figure
