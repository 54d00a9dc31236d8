"""Batches: their shape, values and labels, the augmentation, and a worker's error.

python -m pytest tests/data/test_dataloaders.py
"""

import shutil
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fastai.data.core import TfmdDL
from PIL import Image

import data
from app.error_lines import one_line
from data import DataError, Sample, Scan
from data.dataloaders import default_workers
from data.normalize import NormalizeBytes
from data.pixel_loader import PixelDL

SPEC = SimpleNamespace(image_size=32, mean=(0.5, 0.4, 0.3), std=(0.2, 0.25, 0.3))


def loaders(scan, **options):
    return data.loaders(scan, SPEC, **{"batch_size": 8, "workers": 0, "aug_mult": 0} | options)


def plain(size: tuple[int, int] = (48, 48)) -> np.ndarray:
    return np.full((*size, 3), (102, 51, 204), np.uint8)


def arrays(count: int = 8, source: str = "arrays") -> Scan:
    """A scan of one-coloured arrays, half of each class."""
    samples = [Sample(plain(), "cat" if index % 2 else "dog") for index in range(count)]
    return Scan(source, "arrays", ["dog", "cat"], samples, samples, 48)


def test_batches_are_normalised_floats_and_labels_index_the_classes(photo_folder):
    found = data.scan(photo_folder(classes=("10", "2", "9")))
    made = loaders(found)
    assert list(made.vocab) == found.classes == ["10", "2", "9"]
    means = {}
    for images, labels in (*made.train, *made.valid):
        assert (images.shape, images.dtype) == ((len(labels), 3, 32, 32), torch.float32)
        assert labels.dtype == torch.int64
        for image, label in zip(images, labels):
            means.setdefault(found.classes[label], []).append(torch.Tensor(image).mean((1, 2)))
    for name, values in means.items():
        path = next(sample.source for sample in found.valid if sample.label == name)
        expected = (np.asarray(data.read_image(path)).mean((0, 1)) / 255 - SPEC.mean) / SPEC.std
        assert np.allclose(torch.stack(values), expected, atol=0.1), name


def test_values_are_scaled_to_one_then_normalised():
    images, labels = loaders(arrays()).valid.one_batch()
    expected = (torch.tensor([0.4, 0.2, 0.8]) - torch.tensor(SPEC.mean)) / torch.tensor(SPEC.std)
    assert torch.allclose(torch.Tensor(images), expected.view(1, 3, 1, 1).expand_as(images), atol=1e-6)
    assert labels.tolist() == [0, 1] * 4  # in the order of `classes`, which is not the alphabet's


def test_training_is_shuffled_and_drops_the_last_part_validation_keeps_order_and_all(photo_folder):
    made = loaders(data.scan(photo_folder()), batch_size=7)
    assert [len(labels) for _, labels in made.train] == [7, 7, 7]
    assert [len(labels) for _, labels in made.valid] == [7, 5]
    assert torch.cat([labels for _, labels in made.valid]).tolist() == [0] * 6 + [1] * 6
    firsts = {tuple(made.train.one_batch()[1].tolist()) for _ in range(8)}
    assert len(firsts) > 1


@pytest.mark.parametrize("batch_size", [1, 9])
def test_a_batch_size_that_cannot_be_is_an_error(batch_size):
    with pytest.raises(DataError) as caught:
        loaders(arrays(8), batch_size=batch_size)
    assert str(caught.value) == f"--batch-size {batch_size}: between 2 and the 8 training images"


def test_a_tagged_photo_is_upright_in_training_and_validation(photo_folder):
    root = photo_folder(train=2, valid=1)
    exif = Image.Exif()
    exif[0x112] = 6
    half = np.zeros((48, 48, 3), np.uint8)
    half[:, :24] = 255  # as stored: left half white; as shown: upper half white
    for path in root.glob("*/*/*.jpg"):
        Image.fromarray(half).save(path, exif=exif)
    made = loaders(data.scan(root), batch_size=4)
    for images, _ in (made.train.one_batch(), made.valid.one_batch()):
        assert (images[:, :, :12] > images[:, :, -12:]).all()


# Augmentation


def test_large_photos_are_decoded_at_reduced_size(photo_folder, monkeypatch):
    sizes = []

    def counted(source, **options):
        image = data.read_image(source, **options)
        sizes.append((image.size, options))
        return image

    root = photo_folder(train=2, valid=1)
    for path in root.rglob("*.jpg"):
        Image.new("RGB", (800, 800)).save(path)
    found = data.scan(root)
    monkeypatch.setattr("data.transforms.read_image", counted)
    list(loaders(found, batch_size=4).valid)
    assert sizes[-1] == ((100, 100), {"for_size": SPEC.image_size, "truncated": False})


def test_no_augmentation_with_strength_zero():
    first, second = (loaders(arrays()).train.one_batch()[0] for _ in range(2))
    assert torch.equal(first, second)


def test_photos_are_made_by_threads_small_images_as_by_stock_fastai():
    found = arrays()
    assert type(loaders(found).train) is TfmdDL
    assert type(loaders(found, aug="crop").train) is PixelDL
    found.side = 65
    made = loaders(found, workers=3)
    assert (type(made.train), made.train.threads) == (PixelDL, 3)
    assert [type(step) for step in made.train.after_batch.fs] == [NormalizeBytes]


@pytest.mark.parametrize("aug", ["crop", "fastai"])
def test_photos_are_augmented_either_way(aug):
    rng = np.random.default_rng(0)
    samples = [Sample(rng.integers(0, 256, (70, 90, 3), np.uint8), "ab"[i % 2]) for i in range(8)]
    found = Scan("arrays", "arrays", ["a", "b"], samples, samples, 90)
    made = loaders(found, aug=aug, aug_mult=1.0)
    still = torch.Tensor(made.valid.one_batch()[0])
    batch = torch.Tensor(made.train.one_batch()[0])
    assert batch.shape == still.shape == (8, 3, 32, 32)
    assert all((image - other).abs().max() > 0.1 for image in batch for other in still)


@pytest.mark.parametrize("source", ["arrays", "cifar10"])
def test_training_is_augmented_and_validation_is_not(source):
    rng = np.random.default_rng(0)
    samples = [Sample(rng.integers(0, 256, (32, 32, 3), np.uint8), "ab"[i % 2]) for i in range(8)]
    found = Scan(source, "arrays", ["a", "b"], samples, samples, 32)
    torch.manual_seed(0)
    made = loaders(found, aug_mult=1.0)
    still = torch.Tensor(loaders(found).valid.one_batch()[0])
    # fastai's flip resamples validation images too, at the very same places: rounding is all it changes.
    assert torch.allclose(torch.Tensor(made.valid.one_batch()[0]), still, atol=1e-4)
    batch = torch.Tensor(made.train.one_batch()[0])
    assert batch.shape == still.shape
    nearest = [min((image - other).abs().max() for other in still) for image in batch]
    assert sum(distance > 0.1 for distance in nearest) >= 6  # of 8: by chance one may stay as it is


# Workers


def test_small_images_need_no_worker():
    found = arrays()
    assert default_workers(found) == 0
    found.side = 65
    assert 1 <= default_workers(found) <= 8


@pytest.mark.parametrize("workers", [0, 1])
def test_an_image_that_breaks_later_reaches_the_caller_with_its_name(workers, photo_folder):
    root = photo_folder()
    found = data.scan(root)
    for sample in found.train[1:]:  # not the first, which fastai opens as it sets up
        content = sample.source.read_bytes()
        sample.source.write_bytes(content[: len(content) // 2])
    made = loaders(found, workers=workers)
    with pytest.raises(data.ImageError) as caught:
        list(made.train)
    line = one_line(caught.value)
    assert line.startswith(f"{root / 'train'}")
    assert ".jpg: damaged (image file is truncated (" in line


def test_nothing_is_written_into_the_data_set(photo_folder):
    root = photo_folder()
    shutil.rmtree(root / "valid")
    before = [(path, path.stat().st_mtime_ns) for path in [root, *sorted(root.rglob("*"))]]
    made = loaders(data.scan(root), batch_size=4)
    assert len(list(made.train)) == len(range(0, 20, 4))
    assert [(path, path.stat().st_mtime_ns) for path in [root, *sorted(root.rglob("*"))]] == before
