"""Small images in one tensor: validation as by stock fastai, training reproducible, flips that alternate.

python -m pytest tests/data/test_tensor_loader.py
"""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fastai.data.core import DataLoaders, TfmdDL
from fastai.data.transforms import ToTensor
from fastai.torch_core import set_seed
from fastai.vision.augment import Resize

import data
from data import Sample, Scan
from data.tensor_loader import BalancedTensorDL, TensorDL

SIZE = 16
SPEC = SimpleNamespace(image_size=SIZE, mean=(0.5, 0.4, 0.3), std=(0.2, 0.25, 0.3))
MEAN, STD = (torch.tensor(values).view(1, 3, 1, 1) for values in (SPEC.mean, SPEC.std))


def arrays(count: int, seed: int) -> list[Sample]:
    pixels = np.random.default_rng(seed).integers(0, 256, (count, SIZE, SIZE, 3), np.uint8)
    return [Sample(image, "ab"[number % 2]) for number, image in enumerate(pixels)]


def loaders(**options) -> DataLoaders:
    set_seed(1)
    scan = Scan("cifar10", "", ["a", "b"], arrays(20, 0), arrays(6, 1), SIZE)
    return data.loaders(scan, SPEC, **{"batch_size": 5, "flip": True} | options)


def epoch(loader) -> tuple[torch.Tensor, torch.Tensor]:
    images, labels = zip(*loader)
    return torch.cat(images).as_subclass(torch.Tensor), torch.cat(labels).as_subclass(torch.Tensor)


def pixels(images: torch.Tensor) -> torch.Tensor:
    return ((images * STD + MEAN) * 255).round().to(torch.uint8)


def test_validation_is_stock_fastais():
    made = loaders()
    assert type(made.valid) is TensorDL
    stock = TfmdDL(made.valid.dataset, bs=5, num_workers=0, after_item=[Resize(SIZE), ToTensor()])
    expected, places = epoch(stock)
    images, labels = epoch(made.valid)
    assert torch.equal(pixels(images), expected)
    assert torch.allclose(images, (expected.as_subclass(torch.Tensor) / 255 - MEAN) / STD, atol=1e-6)
    assert labels.tolist() == places.tolist() == [0, 1, 0, 1, 0, 1]
    batch = made.valid.one_batch()
    assert [type(part).__name__ for part in batch] == ["TensorImage", "TensorCategory"]
    assert made.valid.vocab == ["a", "b"]


def test_training_is_shuffled_augmented_and_equal_for_equal_seeds():
    (images, labels), (again, labels_again) = (epoch(loaders().train) for _ in range(2))
    assert torch.equal(images, again)
    assert torch.equal(labels, labels_again)
    made = loaders()
    assert not torch.equal(epoch(made.train)[0], epoch(made.train)[0])
    plain = loaders(aug_mult=0).train
    found = {image.tobytes() for image in pixels(epoch(plain)[0]).permute(0, 2, 3, 1).numpy()}
    assert found == {sample.source.tobytes() for sample in plain.dataset.tls[0].items}


def test_the_generator_of_a_pass_is_put_back_with_the_loaders():
    from callbacks.random_state import random_state, restore_random_state

    made = loaders(aug="airbench94")
    epoch(made.train)
    state = random_state(made.loaders)
    expected = [epoch(made.train)[0] for _ in range(2)]
    other = loaders(aug="airbench94")
    restore_random_state(state, other.loaders)
    assert all(torch.equal(images, epoch(other.train)[0]) for images in expected)


@pytest.mark.parametrize("made", [lambda train: train, lambda train: train.new(bs=4)])
def test_alternating_flips_show_each_image_both_ways_in_two_passes(made):
    train = loaders(aug="airbench94")
    loader = made(train.train)
    loader.augment = type(loader.augment)(padding=0, flips="alternating")
    seen = [{image.tobytes() for image in pixels(epoch(loader)[0]).permute(0, 2, 3, 1).numpy()} for _ in range(3)]
    sources = [sample.source for sample in loader.dataset.tls[0].items]
    straight = [source.tobytes() in seen[0] for source in sources]
    assert 0 < sum(straight) < len(sources)
    assert [source.tobytes() in seen[1] for source in sources] == [not was for was in straight]
    assert [np.ascontiguousarray(source[:, ::-1]).tobytes() in seen[1] for source in sources] == straight
    assert seen[2] == seen[0]


def test_files_are_read_and_resized_once(photo_folder):
    scan = data.scan(photo_folder())  # 48 px
    made = data.loaders(scan, SPEC, batch_size=8, aug="pad", aug_mult=0)
    stock = TfmdDL(made.valid.dataset, bs=8, num_workers=0, after_item=[Resize(SIZE), ToTensor()])
    assert torch.equal(pixels(epoch(made.valid)[0]), epoch(stock)[0])


def test_a_balanced_loader_keeps_its_weights_with_another_batch_size():
    train = [Sample(sample.source, "aaab"[number % 4]) for number, sample in enumerate(arrays(40, 0))]
    scan = Scan("cifar10", "", ["a", "b"], train, arrays(4, 1), SIZE)
    for aug in ("pad", "fastai"):
        scan.source = "cifar10" if aug == "pad" else "folder"
        train = data.loaders(scan, SPEC, batch_size=8, aug=aug, balanced=True).train
        assert isinstance(train, BalancedTensorDL) == (aug == "pad")
        set_seed(0)
        loader = train.new(bs=4)
        labels = torch.cat([epoch(loader)[1] for _ in range(40)])
        assert 0.45 < labels.float().mean() < 0.55


def test_images_alone_can_be_given_afterwards():
    made = loaders()
    loader = made.test_dl([sample.source for sample in arrays(3, 5)])
    (images,) = next(iter(loader))
    assert images.shape == (3, 3, SIZE, SIZE)
