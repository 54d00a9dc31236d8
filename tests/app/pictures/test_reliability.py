"""The reliability diagram shows the bins as they are: python -m pytest tests/app/pictures/test_reliability.py"""

import numpy as np

from app.evaluation.calibration_error import Calibration
from app.pictures.reliability import draw_reliability


def test_a_bar_for_each_bin():
    low, high = np.array([0.4, 0.8]), np.array([0.6, 1.0])
    found = Calibration(low, high, np.array([3, 9]), np.array([0.55, 0.9]), np.array([1 / 3, 1.0]))
    top, below = draw_reliability(found).axes
    assert [(bar.get_x(), bar.get_height()) for bar in top.patches] == [(0.4, 1 / 3), (0.8, 1.0)]
    assert [bar.get_height() for bar in below.patches] == [3, 9]
    assert top.get_title() == f"expected calibration error {3 / 12 * (0.55 - 1 / 3) + 9 / 12 * 0.1:.4f}"
