"""`app.train` on photos: each file is decoded once, later runs decode nothing, and no cache ends a run.

python -m pytest tests/app/test_input_pipeline.py
"""

from collections import Counter

import numpy as np
import pytest
import yaml
from PIL import Image

import data
from models import load

TRAIN = ("--arch", "resnet20_cifar", "--epochs", 2, "--batch-size", 8)


@pytest.fixture
def photos(tmp_path):
    """8 training and 4 validation photos of 90 x 80 px, noise around the colours of two classes."""
    rng = np.random.default_rng(0)
    for split, count in (("train", 8), ("valid", 4)):
        for number in range(count):
            path = tmp_path / "photos" / split / ("ant", "bee")[number % 2] / f"{number}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            pixels = rng.integers(0, 128, (80, 90, 3), np.uint8)
            pixels[..., number % 2] += 100
            Image.fromarray(pixels).save(path)
    return tmp_path / "photos"


@pytest.fixture
def reads(monkeypatch):
    """How often each file was decoded, by the audit and for batches."""
    counted = Counter()

    def read(source, **options):
        counted[source] += 1
        return data.read_image(source, **options)

    for user in ("data.inspect", "data.pixels"):
        monkeypatch.setattr(f"{user}.read_image", read)
    return counted


@pytest.fixture
def own_cache_folder(tmp_path, monkeypatch):
    """A user's cache folder without anything in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    return tmp_path / "user" / "fastsight" / "pixels"


def settings(folder):
    return yaml.safe_load((folder / "args.yaml").read_text())


def test_a_cold_run_decodes_each_file_once_and_a_second_none(photos, train, reads, own_cache_folder):
    result, folder = train(photos, *TRAIN)
    assert result.code == 0, result.err
    assert "augmentation: random resized crops, strength 1, with flips\n" in result.err
    assert reads == dict.fromkeys(photos.rglob("*.jpg"), 1)
    assert list(own_cache_folder.glob("*.pack"))
    kept = settings(folder)
    assert (kept["aug"], kept["flip"], kept["cache"]) == ("crop", True, "auto")
    result, _ = train(photos, *TRAIN)
    assert result.code == 0, result.err
    assert sum(reads.values()) == 12


def test_the_settings_can_be_used_again(photos, train, own_cache_folder):
    _, folder = train(photos, *TRAIN, "--no-flip", "--cache", "mine", "--aug", "fastai")
    result, again = train("--config", folder / "args.yaml")
    assert result.code == 0, result.err
    assert settings(again) == settings(folder)
    assert "augmentation: fastai's aug_transforms, strength 1, without flips\n" in result.err
    assert not own_cache_folder.exists()


def test_without_a_cache_every_epoch_decodes(photos, train, reads, own_cache_folder):
    result, _ = train(photos, *TRAIN, "--cache", "off")
    assert result.code == 0, result.err
    # The audit, two epochs, and what the exported model says of the validation images.
    assert reads == {file: 1 + 2 + ("valid" in file.parts) for file in photos.rglob("*.jpg")}
    assert not own_cache_folder.exists()


def test_the_cache_may_lie_elsewhere(photos, train, here, own_cache_folder):
    result, folder = train(photos, *TRAIN, "--cache", "mine")
    assert result.code == 0, result.err
    assert settings(folder)["cache"] == str(here / "mine")
    assert list((here / "mine").glob("*.pack"))
    assert not own_cache_folder.exists()


def test_a_cache_that_cannot_be_written_is_said_and_ends_nothing(photos, train, own_cache_folder):
    own_cache_folder.parent.mkdir(parents=True)
    own_cache_folder.write_text("a file where the folder should be")
    result, folder = train(photos, *TRAIN)
    assert result.code == 0, result.err
    line = "warning: the cache is full (the cache folder cannot be used): other images are decoded in every epoch\n"
    assert line in result.err
    assert (folder / "model.pkl").exists()


def test_a_cache_on_a_full_disk_is_said_and_ends_nothing(photos, train, reads, monkeypatch, own_cache_folder):
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("Usage", (), {"free": 0}))
    result, _ = train(photos, *TRAIN)
    assert result.code == 0, result.err
    assert f"warning: the cache is full ({own_cache_folder}: 0.0 GB are in use)" in result.err
    assert sum(reads.values()) == 3 * 12 + len(list(photos.glob("valid/*/*.jpg")))


@pytest.mark.parametrize(
    ("cache", "message"),
    [
        ("file", "--cache {here}/file is no folder: give one, or 'auto' or 'off'"),
        (
            "{photos}/cache",
            "--cache {photos}/cache lies in the data set {photos}, where nothing is written: give another",
        ),
    ],
)
def test_a_cache_that_cannot_be_is_an_error(cache, message, photos, train, here):
    (here / "file").write_text("")
    names = {"here": here, "photos": photos}
    result, folder = train(photos, "--cache", cache.format(**names))
    assert (result.code, folder) == (2, None)
    assert result.err.splitlines()[-1] == f"error: {message.format(**names)}"


def test_characters_are_not_mirrored_unless_asked(photos, train):
    for split in ("train", "valid"):
        (photos / split / "ant").rename(photos / split / "a")
        (photos / split / "bee").rename(photos / split / "b")
    result, folder = train(photos, *TRAIN, "--dry-run")
    assert result.code == 0, result.err
    assert "strength 1, without flips, since every class is a single letter or digit\n" in result.err
    assert settings(folder)["flip"] is False
    result, _ = train(photos, *TRAIN, "--dry-run", "--flip")
    assert "strength 1, with flips\n" in result.err


def test_prediction_sees_what_validation_saw(photos, train, own_cache_folder):
    """The exported model prepares a file as the loader did, to the last bit."""
    result, folder = train(photos, *TRAIN)
    assert result.code == 0, result.err
    predictor = load(folder / "model.pkl")
    from data.pixel_store import PixelStore
    from data.pixels import Pixels

    pixels = Pixels(32, PixelStore())
    for path in photos.rglob("*.jpg"):
        prepared = predictor.prepare(data.read_image(path, for_size=predictor.image_size))
        assert np.array_equal(pixels.square(path), np.asarray(prepared))
