"""An image is what the reader and fastai's Resize make of it, from the cache or not, and is decoded once.

python -m pytest tests/data/test_pixels.py
"""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from fastai.vision.augment import Resize
from fastai.vision.core import PILImage
from PIL import Image

import data
from data import forms
from data.facts_cache import stamp_of
from data.gather import gather_facts
from data.pixel_store import PixelStore
from data.pixels import Pixels

SIZE = 32


def photo(path: Path, width: int, height: int, **options) -> Path:
    coarse = np.random.default_rng(width).integers(0, 256, (6, 8, 3), np.uint8)
    Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC).save(path, **options)
    return path


@pytest.fixture
def files(tmp_path):
    """Photos of many kinds; the 400 px JPEGs are decoded at a reduced size."""
    exif = Image.Exif()
    exif[0x112] = 6
    return [
        photo(tmp_path / "plain.jpg", 100, 80),
        photo(tmp_path / "large.jpg", 400, 300),
        photo(tmp_path / "tagged.jpg", 410, 300, exif=exif),
        photo(tmp_path / "large.png", 500, 301),
        photo(tmp_path / "wide.webp", 300, 70),
        photo(tmp_path / "small.jpg", 70, 20),
    ]


@pytest.fixture
def reads(monkeypatch):
    """How often each file was decoded."""
    counted = Counter()

    def read(source, **options):
        counted[source.name] += 1
        return data.read_image(source, **options)

    monkeypatch.setattr("data.pixels.read_image", read)
    monkeypatch.setattr("data.inspect.read_image", read)
    return counted


def expected_square(path):
    image = PILImage(data.read_image(path, for_size=SIZE))
    return np.asarray(Resize(SIZE)(image, split_idx=1))


@pytest.fixture(params=["no cache", "cold", "next run", "audited"])
def pixels(request, files, tmp_path):
    """Pixels from each way in which they can come."""
    store = None if request.param == "no cache" else PixelStore(tmp_path / "cache")
    made = Pixels(SIZE, store)
    if request.param == "audited":
        gather_facts(files, remember=False, keep=made.keep)
        assert store.stored == 2 * len(files)
    if request.param == "next run":
        for path in files:
            made.square(path)
        store.close()
        made = Pixels(SIZE, PixelStore(tmp_path / "cache"))
    return made


def test_validation_sees_the_same_pixels_to_the_last_bit(pixels, files):
    for _ in range(2):
        for path in files:
            assert np.array_equal(pixels.square(path), expected_square(path)), path


def test_training_sees_the_whole_image(pixels, files):
    for path in files:
        whole = data.read_image(path, for_size=SIZE)
        assert np.array_equal(pixels.presized(path), forms.presized(whole, SIZE)), path


def test_a_file_is_decoded_once(files, reads, tmp_path):
    for _ in range(2):  # and not at all in the next run
        pixels = Pixels(SIZE, PixelStore(tmp_path / "cache"))
        for _ in range(2):
            for path in files:
                pixels.presized(path)
                pixels.square(path)
        pixels.store.close()
    assert reads == dict.fromkeys((path.name for path in files), 1)


def test_the_decode_of_an_audit_is_the_only_one(files, reads, tmp_path):
    pixels = Pixels(SIZE, PixelStore(tmp_path / "cache"))
    gather_facts(files, remember=False, keep=pixels.keep)
    for path in files:
        pixels.presized(path)
        pixels.square(path)
    # what a training decodes at a reduced size cannot be had from the whole
    assert reads == {path.name: 1 + (path.name in ("large.jpg", "tagged.jpg")) for path in files}


def test_validation_files_are_kept_as_squares_alone(files, tmp_path):
    pixels = Pixels(SIZE, PixelStore(tmp_path / "cache"))
    pixels.trained = {files[0]}
    gather_facts(files, remember=False, keep=pixels.keep)
    assert pixels.store.stored == len(files) + 1


def test_small_images_of_an_audit_are_not_kept(tmp_path):
    pixels = Pixels(SIZE, PixelStore(tmp_path / "cache"))
    gather_facts([photo(tmp_path / "tiny.png", 64, 64)], remember=False, keep=pixels.keep)
    assert pixels.store.stored == 0


def test_a_changed_file_is_decoded_again_in_the_next_run(files, tmp_path):
    pixels = Pixels(SIZE, PixelStore(tmp_path / "cache"))
    before = pixels.square(files[0]).copy()
    photo(files[0], 101, 82)
    assert np.array_equal(pixels.square(files[0]), before)  # a run goes on with what it has begun with
    pixels.store.close()
    again = Pixels(SIZE, PixelStore(tmp_path / "cache"))
    assert np.array_equal(again.square(files[0]), expected_square(files[0]))
    assert not np.array_equal(again.square(files[0]), before)


def test_a_file_that_goes_while_it_is_looked_at_is_no_error_of_the_cache(files, tmp_path):
    pixels = Pixels(SIZE, PixelStore(tmp_path / "cache"))
    path = files[1]
    whole, stamp = data.read_image(path), stamp_of(path)
    path.unlink()
    pixels.keep(path, stamp, whole)
    with pytest.raises(data.ImageError) as caught:
        pixels.square(path)
    assert str(caught.value) == f"{path}: no such file"


def test_arrays_are_not_kept(tmp_path):
    pixels = Pixels(SIZE, PixelStore(tmp_path / "cache"))
    assert pixels.square(np.full((40, 50, 3), 9, np.uint8)).shape == (SIZE, SIZE, 3)
    assert pixels.store.stored == 0


def test_a_truncated_image_shows_what_there_is_of_it(files, tmp_path):
    content = files[0].read_bytes()
    files[0].write_bytes(content[: len(content) * 3 // 4])
    pixels = Pixels(SIZE, PixelStore(tmp_path / "cache"))
    with pytest.raises(data.ImageError, match="truncated"):
        pixels.square(files[0])
    pixels.truncated = True
    expected = forms.square(data.read_image(files[0], for_size=SIZE, truncated=True), SIZE)
    assert np.array_equal(pixels.square(files[0]), expected)
