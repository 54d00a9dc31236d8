"""A Learner on XLA trains as on the CPU, compiles once, and is itself again afterwards, whatever happens.

python -m pytest tests/callbacks/xla/test_training.py
"""

import json
import subprocess
import sys

import pytest

TRANSFERS = 2  # of an epoch: the losses; the metrics with the loss of validation

# Loads an exported Learner where neither torch_xla nor this project can be imported.
STOCK = """
import json, sys
sys.modules["torch_xla"] = sys.modules["callbacks"] = None
import torch
from fastai.learner import load_learner
learn = load_learner(sys.argv[1])
images = torch.load(sys.argv[1].replace("model.pkl", "images.pt"))
with torch.no_grad():
    print(json.dumps(learn.model.eval()(images).softmax(1).tolist()))
"""


@pytest.fixture(scope="module")
def found(on_xla):
    return on_xla("training")


def test_the_losses_are_the_cpus(found):
    assert found["same"]["steps"] >= 20
    assert found["same"]["difference"] < 1e-3
    assert found["same"]["whole"] == []


def test_every_parameter_trains(found):
    assert found["same"]["unchanged"] == 0
    assert found["frozen"] == ["0.weight"]  # batch normalisation trains in a frozen body, as fastai has it


def test_nothing_compiles_after_the_first_epoch_of_a_stage(found):
    rows = found["fine_tuned"]["rows"]
    assert [row["phase"] for row in rows] == ["frozen", "unfrozen", "unfrozen", "unfrozen"]
    assert [row["xla/compiles"] > 0 for row in rows] == [True, True, False, False]
    assert found["fine_tuned"]["late"] == []


def test_few_transfers_an_epoch(found):
    for row in found["fine_tuned"]["rows"]:
        assert row["xla/transfers_from_device"] == TRANSFERS
        assert row["xla/images_per_second_per_device"] > 0


def test_to_keep_the_first_batch_compiles_no_step_again(found):
    (plain, later), (kept, kept_later) = found["first"].pop("compiles")
    assert plain > kept == 1  # what cuts it out of its batch
    assert later == kept_later == 0
    assert found["first"] == {"shape": [8, 3, 12, 12], "labels": 8, "device": "cpu"}


def test_predictions_are_the_cpus(found):
    assert found["fine_tuned"]["predictions"] < 1e-5
    assert found["fine_tuned"]["whole"] == []


@pytest.mark.parametrize("for_good", [0, 1])
def test_an_exception_of_the_data_set_is_shown(found, for_good):
    assert found["broken"][for_good] == {"said": "OSError: image 7 of the set is broken", "whole": [], "epochs": 1}


@pytest.mark.parametrize("for_good", [0, 1])
def test_ctrl_c_restores_the_learner(found, for_good):
    assert found["interrupted"][for_good] == {"said": "KeyboardInterrupt: ", "whole": [], "trains": 5}


def test_a_cancelled_fit_keeps_its_losses(found):
    assert found["stopped"] == {"losses": 5 + 3, "whole": []}


def test_checkpoints_hold_tensors_of_the_cpu(found):
    assert found["tracked"] == {"devices": ["cpu"], "whole": []}


def test_an_export_loads_without_us(found):
    stock = [sys.executable, "-I", "-c", STOCK, found["exported"]["model"]]
    done = subprocess.run(stock, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    predicted = [value for row in json.loads(done.stdout.splitlines()[-1]) for value in row]
    expected = [value for row in found["exported"]["predictions"] for value in row]
    assert len(predicted) == 3 * 21
    assert predicted == pytest.approx(expected, abs=1e-5)
