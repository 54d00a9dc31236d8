"""What is seen in one file: sizes, digest, and the reason of each kind of file that cannot be read.

python -m pytest tests/data/test_inspect.py
"""

import io
import os

import numpy as np
import pytest
from PIL import Image

from data.inspect import Facts, ends_early, inspect_file, inspect_truncated

NOISE = np.random.default_rng(0).integers(0, 256, (40, 60, 3), np.uint8)


def encoded(format, image=None, **options):
    buffer = io.BytesIO()
    (Image.fromarray(NOISE) if image is None else image).save(buffer, format, **options)
    return buffer.getvalue()


@pytest.fixture
def inspected(tmp_path):
    """Write bytes under a name, and inspect."""

    def inspected(content, name="a.jpg"):
        path = tmp_path / name
        path.write_bytes(content)
        return inspect_file(path)

    return inspected


def test_an_image(inspected):
    facts = inspected(encoded("JPEG"))
    assert facts._replace(digest="") == Facts(width=60, height=40, format="JPEG")
    assert len(facts.digest) == 32


def test_the_digest_is_of_the_pixels(inspected):
    png, tiff = inspected(encoded("PNG"), "a.png"), inspected(encoded("TIFF"), "a.tif")
    assert (png.format, tiff.format) == ("PNG", "TIFF")
    assert png.digest == tiff.digest
    other = NOISE.copy()
    other[0, 0, 0] ^= 1
    assert inspected(encoded("PNG", Image.fromarray(other))).digest != png.digest


def test_the_digest_knows_the_shape(inspected):
    flat = [inspected(encoded("PNG", Image.new("RGB", size))).digest for size in ((10, 20), (20, 10))]
    assert flat[0] != flat[1]


def test_the_size_is_that_of_the_upright_image(inspected):
    exif = Image.Exif()
    exif[0x0112] = 6
    facts = inspected(encoded("JPEG", exif=exif))
    assert (facts.width, facts.height) == (40, 60)


@pytest.mark.parametrize(
    ("spread", "uniform"), [(0, True), (2, True), (3, False)], ids=["one colour", "as a JPEG moves it", "more"]
)
def test_uniform(inspected, spread, uniform):
    pixels = np.full((20, 20, 3), 90, np.uint8)
    pixels[0, 0, 1] += spread
    assert inspected(encoded("PNG", Image.fromarray(pixels))).uniform is uniform


EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n"
HTML = b"<!DOCTYPE html><html><body>404 not found</body></html>"
BOMB = encoded("PNG", Image.new("1", (14000, 14000)))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty file"),
        (HTML, "not an image of a supported format"),
        (EPS, "not an image of a supported format"),
        (BOMB, "too many pixels to decode safely"),
        (encoded("JPEG")[:1200], "damaged (image file is truncated (6 bytes not processed))"),
    ],
    ids=["empty", "HTML", "EPS", "bomb", "cut"],
)
def test_why_a_file_cannot_be_read(inspected, content, reason):
    facts = inspected(content)
    assert facts._replace(reason="") == Facts()
    assert facts.reason.partition(" (")[0] == reason.partition(" (")[0]


@pytest.mark.parametrize("cut", [2, 200, 1000], ids=["without its end mark", "a bit", "much"])
def test_what_there_is_of_a_file_that_ends_early(inspected, tmp_path, cut):
    content = encoded("JPEG")
    facts = inspected(content[:-cut])
    assert ends_early(facts)
    assert (facts.truncated, facts.width) == (False, 0)
    again = inspect_truncated(tmp_path / "a.jpg", facts)
    assert (again.truncated, again.width, again.height) == (True, 60, 40)
    assert again.reason == facts.reason
    assert (again.digest == inspected(content).digest) is (cut == 2)


def test_what_ends_before_its_first_pixel_stays_unreadable(inspected, tmp_path):
    facts = Facts(reason="damaged (image file is truncated)")
    (tmp_path / "a.jpg").write_bytes(encoded("JPEG")[:20])
    assert inspect_truncated(tmp_path / "a.jpg", facts) == facts


def test_reading_what_ends_early_leaves_the_next_reading_strict(inspected, tmp_path):
    content = encoded("JPEG")[:-500]
    facts = inspected(content)
    inspect_truncated(tmp_path / "a.jpg", facts)
    assert inspected(content) == facts


def test_what_may_change_without_the_file_is_not_lasting(inspected, tmp_path):
    assert inspected(b"").lasting
    assert inspected(encoded("JPEG")[:-500]).lasting
    assert inspect_file(tmp_path / "none.jpg") == Facts(reason="no such file", lasting=False)
    (tmp_path / "link.jpg").symlink_to(tmp_path / "none.jpg")
    assert inspect_file(tmp_path / "link.jpg") == Facts(reason="link to a missing file", lasting=False)
    (tmp_path / "folder.jpg").mkdir()
    assert inspect_file(tmp_path / "folder.jpg") == Facts(reason="is a folder", lasting=False)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.jpg")
    assert inspect_file(tmp_path / "pipe.jpg") == Facts(reason="not a regular file", lasting=False)
