"""Shifts, flips and covered squares, against windows of padded images and NumPy's own.

python -m pytest tests/data/test_shifts.py
"""

import numpy as np
import pytest
import torch

from data.shifts import GREY, Shifts, covered, mirrored, shifted

BLACK = {"mode": "constant"}
MIRROR = {"mode": "reflect"}


def images(count: int) -> torch.Tensor:
    """uint8 (count, 6, 5, 3), none of its values zero, neighbours different."""
    return (torch.arange(count * 6 * 5 * 3) % 251 + 1).to(torch.uint8).view(count, 6, 5, 3)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(("reflect", "padding"), [(False, BLACK), (True, MIRROR)])
def test_a_shifted_image_is_a_window_of_its_padded_self(reflect, padding):
    shifts = torch.tensor([[0, 0], [2, -1], [-2, 2], [1, 1]])
    batch = images(4)
    moved = shifted(batch, shifts, reflect=reflect)
    assert (moved.shape, moved.dtype) == (batch.shape, torch.uint8)
    for image, result, (down, right) in zip(batch.numpy(), moved.numpy(), shifts.tolist()):
        whole = np.pad(image, ((2, 2), (2, 2), (0, 0)), **padding)
        assert np.array_equal(result, whole[2 - down : 8 - down, 2 - right : 7 - right])


def test_those_of_the_mask_are_mirrored():
    batch = images(3)
    result = mirrored(batch, torch.tensor([True, False, True]))
    assert torch.equal(result[1], batch[1])
    assert torch.equal(result[[0, 2]], batch[[0, 2]].flip(2))


def test_a_covered_square_lies_at_its_corner_and_is_grey():
    batch = images(2)
    result = covered(batch, torch.tensor([[1, 2], [3, 0]]), 3)
    expected = batch.clone()
    expected[0, 1:4, 2:5] = GREY
    expected[1, 3:6, 0:3] = GREY
    assert torch.equal(result, expected)


def test_every_shift_within_the_padding_occurs_and_equal_seeds_are_equal():
    batch = torch.zeros(400, 9, 9, 1, dtype=torch.uint8)
    batch[:, 4, 4] = 255
    augment = Shifts(padding=2, flips="none")
    moved = augment(batch, generator())
    places = {tuple(place.tolist()[1:3]) for place in moved.nonzero()}
    assert places == {(row, column) for row in range(2, 7) for column in range(2, 7)}
    assert torch.equal(moved, augment(batch, generator()))
    assert not torch.equal(moved, augment(batch, generator(1)))


def test_the_covered_square_is_always_within_the_image():
    batch = torch.zeros(300, 8, 8, 3, dtype=torch.uint8)
    result = Shifts(padding=0, flips="none", cutout=6)(batch, generator())
    assert ((result == GREY).sum((1, 2, 3)) == 6 * 6 * 3).all()
    assert len({tuple(image.nonzero()[0].tolist()) for image in result}) == 9  # of 3 x 3 places


def test_random_flips_are_half_and_alternating_ones_are_given():
    batch = images(2000)
    flipped = (Shifts(padding=0)(batch, generator()) != batch).flatten(1).any(1)
    assert 900 < flipped.sum() < 1100
    alternating = Shifts(padding=0, flips="alternating")
    mask = alternating.first_flips(2000, seed=3)
    assert 900 < mask.sum() < 1100
    assert torch.equal(mask, alternating.first_flips(2000, seed=3))
    assert not torch.equal(mask, alternating.first_flips(2000, seed=4))
    assert torch.equal((alternating(batch, generator(), mask) != batch).flatten(1).any(1), mask)
    assert Shifts().first_flips(5, 0) is None
