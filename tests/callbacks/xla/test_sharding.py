"""Two devices train as one does, by SPMD.

python -m pytest tests/callbacks/xla/test_sharding.py
"""

import pytest


@pytest.fixture(scope="module")
def one_and_two(on_xla):
    return on_xla("sharded", devices=1), on_xla("sharded", devices=2)


@pytest.mark.slow
def test_two_devices_train_as_one(one_and_two):
    one, two = one_and_two
    assert (one["devices"], two["devices"]) == (1, 2)
    assert len(one["losses"]) == len(two["losses"]) == 26
    assert max(abs(a - b) for a, b in zip(one["losses"], two["losses"])) <= 1e-5
    for a, b in zip(one["values"], two["values"]):
        assert a == pytest.approx(b, abs=1e-5)


@pytest.mark.slow
def test_whole_batches_are_shared_and_odd_ones_are_not(one_and_two):
    one, two = one_and_two
    assert set(two["layouts"]) == {"8", "3", "4"}
    assert two["layouts"]["8"] == ["{devices=[2,1,1,1]0,1}", "{devices=[2]0,1}"]
    assert two["layouts"]["4"] == two["layouts"]["8"]
    assert two["layouts"]["3"] == ["{replicated}", "{replicated}"]
    assert all(layouts == ["", ""] for layouts in one["layouts"].values())


@pytest.mark.slow
def test_the_learner_is_itself_again(one_and_two):
    assert [run["whole"] for run in one_and_two] == [[], []]


@pytest.mark.slow
def test_what_the_runtime_refuses_and_says(on_xla):
    assert on_xla("refused", devices=2) == {
        "torchrun": "torchrun would train as many copies as it has processes: one process uses all XLA devices",
        "too many": "5 XLA devices asked for, 2 found; the variable CPU_NUM_DEVICES makes several of a CPU",
        "too late": "2 XLA devices cannot be used, there are XLA tensors already: "
        "call callbacks.xla.start() before the first, or use one device",
        "one": 1,
        "another number": "2 XLA devices asked for, this process uses 1 already: start a new one",
        "hardware": "XLA on CPU, no TPU found, 1 device",
        "tpu": "XLA on TPU v4-8, 4 devices",
    }
