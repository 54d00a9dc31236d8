"""The smoothed loss that stays on the device is fastai's, also after a checkpoint; here on the CPU.

python -m pytest tests/callbacks/xla/test_deferred.py
"""

from types import SimpleNamespace

import pytest
import torch
from fastai.learner import AvgSmoothLoss

from callbacks.xla.deferred import DeviceSmoothLoss

LOSSES = [2.0, 1.0, 1.5, 0.25]


def smoothed(losses):
    both = AvgSmoothLoss(), DeviceSmoothLoss()
    for smooth in both:
        smooth.reset()
        for loss in losses:
            smooth.accumulate(SimpleNamespace(loss=torch.tensor(loss), to_detach=lambda tensor: tensor))
    return both


def test_the_value_is_fastais():
    plain, ours = smoothed(LOSSES)
    assert float(ours.value) == pytest.approx(float(plain.value))


def test_after_a_checkpoint_there_is_a_value_before_the_next_loss_and_after_it():
    plain, _ = smoothed(LOSSES[:3])
    resumed = DeviceSmoothLoss()
    resumed.reset()
    resumed.count, resumed.val = plain.count, plain.val
    resumed.note({"val": plain.val, "_weight": None})
    assert float(resumed.value) == pytest.approx(float(plain.value))
    resumed.accumulate(SimpleNamespace(loss=torch.tensor(LOSSES[3])))
    assert float(resumed.value) == pytest.approx(float(smoothed(LOSSES)[0].value))


def test_what_came_over_is_the_value_until_the_next_loss():
    _, ours = smoothed(LOSSES[:2])
    ours.note({"val": torch.tensor(3.0), "_weight": torch.tensor(0.5)})
    assert float(ours.value) == 6
    ours.accumulate(SimpleNamespace(loss=torch.tensor(LOSSES[2])))
    assert float(ours.value) == pytest.approx(float(smoothed(LOSSES[:3])[0].value))
