"""fastai's own callbacks and optimizers on XLA: what works compiles once, what cannot is refused with the reason.

python -m pytest tests/callbacks/xla/test_features.py
"""

import pytest

pytestmark = pytest.mark.slow

WORKING = ("accumulation", "fixed norm", "clip", "mixup", "bf16", "f1", "sgd", "rmsprop", "ranger", "torch")


@pytest.fixture(scope="module")
def found(on_xla):
    return on_xla("features")


@pytest.mark.parametrize("name", WORKING)
def test_it_trains_and_compiles_in_the_first_epoch_alone(found, name):
    assert found["trained"][name] == {"compiles": [0], "trained": True, "whole": []}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("MixedPrecision", 'MixedPrecision is for CUDA: use callbacks.autocast.Autocast("bf16")'),
        ("Lamb", "Lamb reads numbers of every parameter in every step, for which XLA stops: use Adam"),
    ],
)
def test_what_cannot_work_is_refused(found, name, message):
    assert found["refused"][name] == {"said": message, "whole": []}


def test_a_late_compilation_is_said_with_its_step(found):
    assert found["late"] == {
        "late": [[2, 16]],
        "said": ["XLA compiled 1 graph in training, epoch 2, step 16, where all should be known"],
        "compiles": 1,
    }


def test_graphs_of_fewer_trained_parameters_are_no_surprise(found):
    assert found["frozen later"] == {"late": [], "said": [], "compiles": 2}  # of whole batches and the last


def test_the_rate_finder_leaves_the_weights(found):
    assert found["rate finder"] == {"found": True, "same": True, "whole": []}


def test_test_time_augmentation(found):
    assert found["tta"] == {"shape": [21, 3], "whole": []}
