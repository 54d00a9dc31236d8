"""The course of a training as a picture: python -m pytest tests/app/pictures/test_results.py"""

import pytest

from app.pictures.results import draw_results
from app.pictures.saving import DPI


def row(epoch, **more):
    return {
        "epoch": epoch,
        "train_loss": 1 / (epoch + 1),
        "valid_loss": 2 / (epoch + 1),
        "accuracy": 0.9,
        "train_seconds": 10.0,
        "data_wait": 4.0,
        "valid_seconds": 3.0,
        **more,
    }


@pytest.mark.parametrize("count", [1, 2, 30])
def test_epochs_are_whole_numbers(count):
    figure = draw_results([row(epoch) for epoch in range(count)])
    figure.draw_without_rendering()
    for axes in figure.axes:
        low, high = axes.get_xlim()
        shown = {place: label.get_text() for place, label in zip(axes.get_xticks(), axes.get_xticklabels())}
        shown = {place: text for place, text in shown.items() if low <= place <= high}
        assert shown.pop(0) == "probe"
        assert all(text == str(int(place)) for place, text in shown.items()), shown
        assert len(shown) >= min(count - 1, 4)


@pytest.mark.parametrize("epochs", [[0], [1], [0, 1], range(1, 41)])
def test_every_point_is_within_its_axes_and_every_part_is_named(epochs):
    figure = draw_results([row(epoch, f1=0.85, train_loss=2 + epoch, valid_loss=1.99 + epoch) for epoch in epochs])
    figure.set_dpi(DPI)
    figure.draw_without_rendering()
    for axes, names in zip(figure.axes, (["training", "validation"], ["accuracy", "macro F1"])):
        assert [text.get_text() for text in axes.get_legend().get_texts()] == names
        for line in axes.lines:
            places = axes.transData.transform(line.get_xydata())
            room = 1.5 * DPI / 72  # px, half a marker
            assert (places[:, 1] + room <= axes.bbox.y1).all()
            assert (places[:, 1] - room >= axes.bbox.y0).all()
    assert all(axes.get_xlabel() == "epoch" for axes in figure.axes)
    for axes in figure.axes:
        legend = axes.get_legend().get_window_extent()
        assert not legend.overlaps(axes.bbox)  # no point can lie below it
        assert figure.bbox.x0 <= legend.x0 < legend.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= legend.y0


def test_the_values_are_those_of_the_rows():
    loss, quality, seconds = draw_results([row(0, f1=0.8), row(1, f1=0.7)]).axes
    assert [line.get_ydata().tolist() for line in loss.lines] == [[1, 0.5], [2, 1]]
    assert [line.get_ydata().tolist() for line in quality.lines] == [[0.9, 0.9], [0.8, 0.7]]
    assert [(bar.get_y(), bar.get_height()) for bar in seconds.patches[::2]] == [(0, 6), (6, 4), (10, 3)]
