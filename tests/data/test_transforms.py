"""Our own transforms: opening a sample, and its label.

python -m pytest tests/data/test_transforms.py
"""

import numpy as np
from fastai.vision.core import PILImage

from data import Sample, read_image
from data.transforms import OpenImage, label_of


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
