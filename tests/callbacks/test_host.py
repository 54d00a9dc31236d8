"""Tensors come to the CPU in their order, copied, those of one device together.

python -m pytest tests/callbacks/test_host.py
"""

import torch

from callbacks import host
from callbacks.host import nested_to_host, to_host


def test_copies_of_what_is_on_the_cpu():
    weight = torch.ones(2, requires_grad=True)
    count = torch.tensor(3)
    copies = to_host([weight, count])
    with torch.no_grad():
        weight.zero_()
    assert torch.equal(copies[0], torch.ones(2))
    assert not copies[0].requires_grad
    assert (copies[1].dtype, copies[1].shape) == (torch.int64, ())


def test_a_device_with_a_way_of_its_own_is_asked_once(monkeypatch):
    asked = []

    def fetch(tensors):
        asked.append(len(tensors))
        return [torch.full(tensor.shape, 7.0) for tensor in tensors]

    monkeypatch.setitem(host.BATCHED, "meta", fetch)  # a device without memory, which torch always has
    there = [torch.empty(2, device="meta"), torch.empty(3, device="meta")]
    first, middle, last = to_host([there[0], torch.zeros(1), there[1]])
    assert asked == [2]
    assert (first.tolist(), middle.tolist(), last.tolist()) == ([7.0] * 2, [0.0], [7.0] * 3)


def test_nothing():
    assert to_host([]) == []


def test_nested_in_one_transfer_and_nothing_copied_that_is_here(monkeypatch):
    asked = []

    def fetch(tensors):
        asked.append(len(tensors))
        return [torch.full(tensor.shape, 7.0) for tensor in tensors]

    monkeypatch.setitem(host.BATCHED, "meta", fetch)
    here, away = torch.zeros(1), torch.empty(1, device="meta")
    value = {"points": [(1, {"loss": away, "rate": 0.1})], "seen": (here, 2), "names": ["a"]}
    copied = nested_to_host(value)
    assert asked == [1]
    assert copied["points"] == [(1, {"loss": torch.tensor([7.0]), "rate": 0.1})]
    assert copied["seen"] is value["seen"]
    assert copied["names"] is value["names"]
    assert nested_to_host(copied) is copied
    assert value["points"][0][1]["loss"] is away
