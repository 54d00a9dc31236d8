"""The course of a training as a picture: python -m pytest tests/app/pictures/test_results.py"""

import pytest

from app.pictures.results import draw_results


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
        shown = [label.get_text() for label in axes.get_xticklabels()]
        assert all(text.lstrip("\N{MINUS SIGN}").isdigit() for text in shown), shown


def test_the_values_are_those_of_the_rows():
    loss, quality, seconds = draw_results([row(0, f1=0.8), row(1, f1=0.7)]).axes
    assert [line.get_ydata().tolist() for line in loss.lines] == [[1, 0.5], [2, 1]]
    assert [line.get_ydata().tolist() for line in quality.lines] == [[0.9, 0.9], [0.8, 0.7]]
    assert [(bar.get_y(), bar.get_height()) for bar in seconds.patches[::2]] == [(0, 6), (6, 4), (10, 3)]
