"""A damaged TIFF is an error of ours, and nothing else is written.

python -m pytest tests/data/test_libtiff.py
"""

import sys

import pytest
from PIL import Image

from data.errors import ImageError
from data.reader import read_image


@pytest.mark.skipif(sys.platform == "win32", reason="Pillow holds libtiff within itself there")
def test_libtiff_says_nothing_of_a_damaged_file(tmp_path, capfd):
    file = tmp_path / "a.tif"
    Image.radial_gradient("L").save(file, compression="tiff_adobe_deflate")
    content = bytearray(file.read_bytes())
    content[200:210] = bytes(10)
    file.write_bytes(content)
    with pytest.raises(ImageError, match="damaged"):
        read_image(file)
    assert capfd.readouterr().err == ""
