"""Our own transforms: opening a sample, and pad-and-crop.

python -m pytest tests/data/test_transforms.py
"""

import numpy as np
import torch
from fastai.vision.core import PILImage, TensorImage

from data import Sample, read_image
from data.transforms import OpenImage, PadCrop, label_of


def test_a_sample_a_path_and_an_array_open_as_fastais_image(photo_folder):
    path = photo_folder() / "train" / "cat" / "00.jpg"
    expected = np.asarray(read_image(path))
    for source in (Sample(path, "cat"), path, expected, Sample(expected, "cat")):
        opened = OpenImage()(source)
        assert type(opened) is PILImage
        assert (opened.mode, opened.size) == ("RGB", (48, 48))
        assert np.array_equal(np.asarray(opened), expected)


def test_the_label_is_the_name():
    assert label_of(Sample(None, "cat")) == "cat"


def images(count: int) -> TensorImage:
    """Float images of 6 rows and 5 columns, in which no two values are the same, none zero."""
    return TensorImage(torch.arange(1, 1 + count * 3 * 6 * 5, dtype=torch.float32).view(count, 3, 6, 5))


def test_each_image_is_a_window_of_its_padded_self_with_its_own_offset():
    torch.manual_seed(0)
    batch = images(64)
    cropped = PadCrop(padding=2)(batch, split_idx=0)
    assert (type(cropped), cropped.shape, cropped.dtype) == (TensorImage, batch.shape, torch.float32)
    assert cropped.is_contiguous()
    padded = torch.nn.functional.pad(torch.Tensor(batch), (2, 2, 2, 2))
    offsets = []
    for image, whole in zip(torch.Tensor(cropped), padded):
        windows = [
            (row, column)
            for row in range(5)
            for column in range(5)
            if torch.equal(image, whole[:, row : row + 6, column : column + 5])
        ]
        assert len(windows) == 1
        offsets += windows
    assert {row for row, _ in offsets} == {column for _, column in offsets} == set(range(5))
    assert len(set(offsets)) > 12


def test_validation_is_left_untouched():
    batch = images(8)
    assert torch.equal(PadCrop(padding=2)(batch, split_idx=1), batch)
