"""Every generator draws again what it has drawn.

python -m pytest tests/callbacks/test_random_state.py
"""

import io
import random

import numpy as np
import torch
from fastai.data.core import DataLoader

from callbacks.random_state import random_state, restore_random_state


def draw(loader):
    return (
        random.random(),
        np.random.normal(),  # of a pair: the other is kept for the next call
        torch.rand(3).tolist(),
        [batch.tolist() for batch in loader],
    )


def test_all_of_them_begin_again_also_from_a_file():
    loader = DataLoader(list(range(8)), bs=4, shuffle=True)
    draw(loader)
    file = io.BytesIO()
    torch.save(random_state([loader]), file)
    expected = draw(loader), draw(loader)
    assert expected[0] != expected[1]
    file.seek(0)
    restore_random_state(torch.load(file, weights_only=True), [loader])
    assert (draw(loader), draw(loader)) == expected


def test_a_loader_without_a_generator_is_left_alone():
    restore_random_state(random_state([object()]), [object()])


def test_what_workers_draw_follows():
    class Noise(torch.utils.data.Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, index):
            return torch.rand(1) + random.random() + np.random.random()

    loader = DataLoader(Noise(), bs=2, num_workers=2, shuffle=True)
    state = random_state([loader])
    first = [batch.tolist() for batch in loader]
    second = [batch.tolist() for batch in loader]
    restore_random_state(state, [loader])
    assert [batch.tolist() for batch in loader] == first != second
