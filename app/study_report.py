"""What a study writes and says: tables, a chart, and the comparison.

print("\\n".join(comparison(rows, ("eager", "compiled"), compiled)))
"""

import csv
import math
import re
from itertools import groupby
from pathlib import Path
from typing import Any

import matplotlib

from app.outputs import written
from data.counting import counted

COLUMNS = ("run", "epoch", "train_seconds", "valid_seconds", "train_loss", "valid_loss", "accuracy")


def write_tables(study: Any, experiment: str) -> None:
    """Write ``<experiment>-<device>.csv`` with a row per run and epoch, and ``...-mean.csv`` over the runs."""
    stem = re.sub(r"[^\w.]+", "-", f"{experiment} {study.chip}").strip("-")
    rows = study.rows[experiment]
    _write(study.folder / f"{stem}.csv", COLUMNS, rows)
    by_epoch = groupby(sorted(rows, key=lambda row: row["epoch"]), key=lambda row: row["epoch"])
    means = [
        {"epoch": epoch} | {name: mean(list(group), name) for name in COLUMNS[2:]}
        for epoch, group in ((epoch, list(group)) for epoch, group in by_epoch)
    ]
    _write(study.folder / f"{stem}-mean.csv", COLUMNS[1:], means)


def write_chart(study: Any) -> None:
    """Write ``epoch_times.png``: mean seconds of training and validation epochs, without each run's first."""
    matplotlib.use("Agg")  # no window
    from matplotlib import pyplot

    if not study.rows:
        return
    figure, axes = pyplot.subplots(figsize=(9, 5), layout="constrained")
    width = 0.4
    for offset, column in ((-width / 2, "train_seconds"), (width / 2, "valid_seconds")):
        heights = [mean(later(rows), column) for rows in study.rows.values()]
        bars = axes.bar([x + offset for x in range(len(heights))], heights, width, label=column.split("_")[0])
        axes.bar_label(bars, fmt="%.3g")
    axes.set_xticks(range(len(study.rows)), study.rows)
    axes.set_ylabel("mean seconds of an epoch, without the first")
    axes.legend()
    args = study.args
    data = Path(args.source).resolve().name if args.source else f"{counted(args.synthetic, 'image')} of noise"
    axes.set_title(
        f"{study.chip}\n{args.arch}, {data}, {args.img_size} px, batch {args.batch_size}, "
        f"{args.epochs} epochs, {counted(args.runs, 'run')}"
    )
    with written(study.folder / "epoch_times.png") as partial:
        figure.savefig(partial, format="png", dpi=120)
    pyplot.close(figure)


def comparison(rows: dict[str, list[dict]], names: tuple[str, str], compiled: Any) -> list[str]:
    """Lines with the means, the differences in percent (negative is faster), and when it breaks even."""
    lines = [f"{'experiment':<24} {'train s':>9} {'valid s':>9} {'first s':>9}"]
    for experiment, found in rows.items():
        first = mean([row for row in found if row["run"] == 1 and row["epoch"] == 1], "train_seconds")
        means = [mean(later(found), column) for column in ("train_seconds", "valid_seconds")]
        lines.append(f"{experiment:<24} {means[0]:>9.3f} {means[1]:>9.3f} {first:>9.3f}")
    for layout in ("single", "repeated"):
        pair = [rows.get(f"{layout} {name}") for name in names]
        if all(pair):
            lines.append(f"{layout}: {names[1]} against {names[0]}: {_differences(*pair)}")
    if compiled.graphs:
        lines.append(f"compiling: {compiled.graphs} graphs, {compiled.breaks} breaks, {compiled.seconds:.1f} s in all")
    pair = [rows.get(f"single {name}") for name in names]
    return [*lines, break_even(*pair)] if all(pair) else lines


def break_even(before: list[dict], after: list[dict]) -> str:
    """After how many epochs of a single run the second way has made up for its first epoch."""
    first = [rows[0]["train_seconds"] + rows[0]["valid_seconds"] for rows in (before, after)]
    rest = [mean(later(rows), "train_seconds") + mean(later(rows), "valid_seconds") for rows in (before, after)]
    extra, saved = first[1] - first[0], rest[0] - rest[1]
    if extra <= 0 and saved >= 0:
        return "break-even: from the first epoch on"
    if saved <= 0:
        return "break-even: never, an epoch is not faster"
    return f"break-even: epoch {1 + math.ceil(extra / saved)}"


def later(rows: list[dict]) -> list[dict]:
    """The epochs after each run's first, which warms up."""
    return [row for row in rows if row["epoch"] > 1]


def mean(rows: list[dict], column: str) -> float:
    """The mean of a column; nan of none."""
    return sum(row[column] for row in rows) / len(rows) if rows else math.nan


def _differences(before: list[dict], after: list[dict]) -> str:
    said = []
    for column in ("train_seconds", "valid_seconds"):
        was, now = (mean(later(rows), column) for rows in (before, after))
        change = 100 * (now / was - 1) if was else math.nan
        said.append(f"{column.split('_')[0]} {change:+.1f}%")
    return ", ".join(said)


def _write(path: Any, columns: tuple[str, ...], rows: list[dict]) -> None:
    with written(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)


def _cell(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value
