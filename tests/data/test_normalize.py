"""Bytes to normalised floats: the same numbers as fastai's, the light of each image, the layout, the way back.

python -m pytest tests/data/test_normalize.py
"""

import pytest
import torch
from fastai.data.transforms import IntToFloatTensor, Normalize
from fastai.vision.core import TensorCategory, TensorImage

from data.normalize import NormalizeBytes, normalized

MEAN, STD = (0.5, 0.4, 0.3), (0.2, 0.25, 0.3)


@pytest.fixture(params=["channels_last", "contiguous"])
def batch(request):
    images = torch.randint(0, 256, (4, 5, 6, 3), dtype=torch.uint8).permute(0, 3, 1, 2)
    return TensorImage(images if request.param == "channels_last" else images.contiguous())


def stock(batch):
    return Normalize.from_stats(MEAN, STD, cuda=False)(IntToFloatTensor()(batch.clone()))


@pytest.mark.parametrize("memory_format", ["channels_last", "contiguous"])
@pytest.mark.parametrize("split", [None, 0, 1])
def test_it_is_fastais_int_to_float_and_normalize(batch, memory_format, split):
    step = NormalizeBytes.of(MEAN, STD)
    step.memory_format = memory_format
    found, label = step((batch, TensorCategory(3)), split_idx=split)
    assert (type(found), found.dtype, label) == (TensorImage, torch.float32, 3)
    assert torch.allclose(found, stock(batch), atol=1e-6)
    layout = torch.channels_last if memory_format == "channels_last" else torch.contiguous_format
    assert found.is_contiguous(memory_format=layout)
    assert batch.dtype == torch.uint8


def test_floats_are_normalised_as_by_fastai(batch):
    floats = IntToFloatTensor()(batch.clone())
    assert torch.equal(NormalizeBytes.of(MEAN, STD, light=0.2)(floats, split_idx=0), stock(batch))


def test_fastai_finds_that_a_normalize_is_there():
    assert isinstance(NormalizeBytes.of(MEAN, STD), Normalize)


def test_decoding_gives_the_image_back(batch):
    step = NormalizeBytes.of(MEAN, STD)
    assert torch.allclose(step.decode(step(batch)), batch.float() / 255, atol=1e-6)


@pytest.mark.parametrize("memory_format", [torch.channels_last, torch.contiguous_format])
def test_each_image_has_its_own_light_within_the_bounds(memory_format):
    grey = torch.full((200, 3, 4, 4), 127.5)
    ramp = torch.cat([grey - 51, grey + 51], 2).to(torch.uint8)  # 0.3 and 0.7
    mean, std = (torch.tensor(value).view(1, 3, 1, 1) for value in (MEAN, STD))
    lit = normalized(ramp, mean, std, light=0.2, memory_format=memory_format) * std + mean
    assert torch.allclose(lit, lit[:, :1, :, :1].expand_as(lit), atol=1e-5)  # all channels and places alike
    dark, bright = lit[:, 0, 0, 0], lit[:, 0, -1, 0]
    contrast, middle = (bright - dark) / 0.4, (bright + dark) / 2
    assert 0.8 <= contrast.min() + 1e-2 < 0.85
    assert 1.2 < contrast.max() <= 1.25 + 1e-2
    assert 0.4 <= middle.min() + 1e-2 < 0.42
    assert 0.58 < middle.max() <= 0.6 + 1e-2


def test_only_training_is_lit(batch):
    step = NormalizeBytes.of(MEAN, STD, light=0.2)
    still = stock(batch)
    assert not torch.allclose(step(batch, split_idx=0), still, atol=1e-2)
    assert torch.allclose(step(batch, split_idx=1), still, atol=1e-6)
    assert torch.allclose(step(batch, split_idx=None), still, atol=1e-6)


def test_the_light_is_torchs_random_state(batch):
    step = NormalizeBytes.of(MEAN, STD, light=0.2)
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(step(batch, split_idx=0))
    assert torch.equal(found[0], found[1])
    assert not torch.allclose(found[0], found[2], atol=1e-3)
