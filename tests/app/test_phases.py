"""The phases of a training, with their rates.

python -m pytest tests/app/test_phases.py
"""

import pytest

from app.phases import FINE, Phase, plan


def settings(**changed):
    return {"lr": 1e-3, "epochs": 3, "freeze_epochs": 0, "pretrained": True, "probe": False, "opt": "adam"} | changed


def test_from_scratch_one_cycle_trains_all():
    assert plan(settings(pretrained=False)) == [Phase("unfrozen", 3, 1e-3)]


def test_the_speed_recipe_is_one_phase_without_a_warm_up():
    (phase,) = plan(settings(pretrained=False, opt="muon", lr=0.24))
    assert phase == Phase("unfrozen", 3, 0.24, linear=True)


def test_without_a_probe_it_is_fastais_fine_tune():
    frozen, unfrozen = plan(settings(freeze_epochs=1))
    assert frozen == Phase("frozen", 1, 1e-3, {"pct_start": 0.99})
    assert (unfrozen.name, unfrozen.epochs, unfrozen.options) == ("unfrozen", 3, FINE)
    assert (unfrozen.rate.start, unfrozen.rate.stop) == pytest.approx((5e-6, 5e-4))


def test_after_a_probe_all_layers_have_one_rate():
    assert plan(settings(probe=True)) == [Phase("unfrozen", 3, 1e-3, FINE)]
    assert [phase.rate for phase in plan(settings(probe=True, freeze_epochs=2))] == [1e-3, 1e-3]


@pytest.mark.parametrize(("epochs", "freeze", "names"), [(0, 0, []), (0, 1, ["frozen"]), (1, 0, ["unfrozen"])])
def test_phases_without_epochs_are_left_out(epochs, freeze, names):
    found = plan(settings(probe=True, epochs=epochs, freeze_epochs=freeze))
    assert [phase.name for phase in found] == names
