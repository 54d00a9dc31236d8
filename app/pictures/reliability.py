"""A reliability diagram: how often a model is right, against how sure it said it was.

draw_reliability(calibration(scores)).savefig("reliability.png")
"""

from matplotlib.figure import Figure

from app.evaluation.calibration_error import Calibration

INCHES = (5, 5.4)
SHARE_OF_COUNTS = (4, 1)  # of the height: the diagram, and the images per bin below it
BLUE, GREY, RED = "#2b6cb0", "#8a8a8a", "#c53030"


def draw_reliability(found: Calibration) -> Figure:
    """Accuracy of each bin as a bar, its distance from what was said in red, and below how many images it holds.

    On the diagonal lies a model whose probabilities are what happens; bars below it mean that it is too sure.
    """
    figure = Figure(figsize=INCHES, layout="constrained")
    top, below = figure.subplots(2, 1, sharex=True, height_ratios=SHARE_OF_COUNTS)
    widths = found.high - found.low
    bars = {"x": found.low, "width": widths, "align": "edge"}
    top.bar(height=found.accuracy, color=BLUE, edgecolor="white", label="accuracy", **bars)
    top.plot((0, 1), (0, 1), color=GREY, linestyle="--", linewidth=1, label="as sure as right")
    top.vlines(found.confidence, found.accuracy, found.confidence, color=RED, linewidth=2, label="difference")
    top.plot(found.confidence, found.accuracy, "o", color=RED, markersize=3)
    top.set(xlim=(0, 1), ylim=(0, 1), ylabel="share that is right")
    top.set_title(f"expected calibration error {found.error:.4f}", fontsize="medium")
    top.legend(loc="upper left", fontsize="small")
    below.bar(height=found.count, color=GREY, edgecolor="white", **bars)
    below.set(xlabel="probability of the likeliest class", ylabel="images", yscale="log", ylim=(0.5, None))
    return figure
