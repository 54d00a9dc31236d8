"""Reading one image: what is shown, and the one line of what cannot be read.

python -m pytest tests/data/test_reader.py
"""

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from data import reader
from data.errors import ImageError
from data.reader import FORMATS, read_image

GRADIENT = np.add.outer(np.arange(0, 160, 8), np.arange(0, 90, 3)).astype(np.uint8)  # 20 rows, 30 columns


def photo() -> Image.Image:
    """30 x 20 pixels whose four corners differ."""
    return Image.fromarray(np.stack([GRADIENT, GRADIENT[::-1], GRADIENT[:, ::-1]], axis=2))


def saved(image: Image.Image, form: str, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, form, **options)
    return stream.getvalue()


def reason(path: Path) -> str:
    with pytest.raises(ImageError) as caught:
        read_image(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    return text.removeprefix(f"{path}: ")


@pytest.mark.parametrize("form", ["AVIF", "BMP", "GIF", "JPEG", "JPEG2000", "PNG", "PPM", "TGA", "TIFF", "WEBP"])
def test_each_format_comes_out_as_rgb_whatever_its_file_is_called(form, tmp_path):
    if form not in FORMATS:
        pytest.skip(f"this Pillow cannot read {form}")
    path = tmp_path / "photo.jpg"
    path.write_bytes(saved(photo(), form))
    image = read_image(path)
    assert (type(image), image.mode, image.size) == (Image.Image, "RGB", (30, 20))
    assert np.abs(np.asarray(image, float) - np.asarray(photo(), float)).mean() < 6


def test_bytes_strings_and_arrays_are_sources_too(tmp_path):
    content, expected = saved(photo(), "PNG"), np.asarray(photo())
    (tmp_path / "photo.png").write_bytes(content)
    for source in (tmp_path / "photo.png", str(tmp_path / "photo.png"), content, expected):
        assert np.array_equal(np.asarray(read_image(source)), expected)


@pytest.mark.parametrize(
    ("pixels", "found"),
    [
        (np.zeros((4, 4), np.uint8), "uint8 (4, 4)"),
        (np.zeros((3, 4, 4), np.uint8), "uint8 (3, 4, 4)"),
        (np.zeros((4, 4, 3)), "float64 (4, 4, 3)"),
    ],
)
def test_an_array_of_another_kind_is_refused(pixels, found):
    with pytest.raises(ImageError) as caught:
        read_image(pixels)
    assert str(caught.value) == f"image array: {found}, expected uint8 (height, width, 3)"


def test_bytes_that_are_no_image_are_named_as_such():
    with pytest.raises(ImageError, match=r"^image bytes: not an image of a supported format$"):
        read_image(b"hello")
    with pytest.raises(ImageError, match=r"^image bytes: empty file$"):
        read_image(b"")


def test_the_image_says_what_its_file_was(tmp_path):
    (tmp_path / "photo.jpg").write_bytes(saved(photo(), "PNG"))
    assert read_image(tmp_path / "photo.jpg").format == "PNG"


# Reduced size


@pytest.mark.parametrize(
    ("for_size", "size"),
    [(None, (1200, 800)), (224, (1200, 800)), (200, (600, 400)), (100, (300, 200)), (1, (150, 100))],
)
def test_a_large_jpeg_is_decoded_at_twice_what_is_needed_or_more(for_size, size):
    large = photo().resize((1200, 800), Image.Resampling.BICUBIC)
    content = saved(large, "JPEG", quality=95)
    image = read_image(content, for_size=for_size)
    assert image.size == size
    expected = np.asarray(large.resize((30, 20), Image.Resampling.BOX), float)
    found = np.asarray(image.resize((30, 20), Image.Resampling.BOX), float)
    assert np.abs(found - expected).mean() < 1


def test_reduced_size_keeps_orientation_and_ink():
    exif = Image.Exif()
    exif[0x0112] = 6
    large = photo().resize((1200, 800), Image.Resampling.BICUBIC)
    assert read_image(saved(large, "JPEG", exif=exif), for_size=100).size == (200, 300)
    inks = saved(large.convert("CMYK"), "JPEG", quality=95)
    means = [np.asarray(read_image(inks, for_size=size)).mean(axis=(0, 1)) for size in (None, 100)]
    assert np.allclose(*means, atol=1)


def test_other_formats_are_decoded_whole():
    assert read_image(saved(photo().resize((1200, 800)), "PNG"), for_size=10).size == (1200, 800)


# Images that end early


def test_what_there_is_of_an_image_that_ends_early():
    large = photo().resize((300, 200), Image.Resampling.BICUBIC)
    for form in ("JPEG", "PNG", "BMP"):
        content = saved(large, form)
        content = content[: len(content) // 2]
        image = read_image(content, truncated=True)
        assert image.size == (300, 200)
        top = slice(-40, None) if form == "BMP" else slice(40)  # a BMP begins at its bottom row
        assert np.abs(np.asarray(image, float)[top] - np.asarray(large, float)[top]).mean() < 6
        with pytest.raises(ImageError, match="truncated"):
            read_image(content)


def test_rows_that_a_damaged_header_invents_are_not_made():
    content = bytearray(saved(photo(), "BMP"))
    content[18:26] = (9000).to_bytes(4, "little") + (9000).to_bytes(4, "little")
    with pytest.raises(ImageError, match=r"^image bytes: too many pixels to decode safely$"):
        read_image(bytes(content), truncated=True)


# Animations and documents: the first frame


@pytest.mark.parametrize("form", ["GIF", "TIFF", "WEBP", "PNG", "MPO"])
def test_of_several_frames_the_first_is_taken(form, tmp_path):
    frames = [Image.new("RGB", (16, 16), colour) for colour in ("red", "lime", "blue")]
    path = tmp_path / "frames.jpg"  # MPO: what some phones and stereo cameras name so
    path.write_bytes(saved(frames[0], form, save_all=True, append_images=frames[1:]))
    with Image.open(path) as image:
        assert image.n_frames == 3
    for _ in range(2):
        assert np.allclose(np.asarray(read_image(path)), (255, 0, 0), atol=3)


# What cannot be read, and why


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("zero.jpg", b"", "empty file"),
        ("page.jpg", b"<html><body>Not found</body></html>", "not an image of a supported format"),
        ("photo.heic", b"junk", "HEIC is not supported: install pillow-heif"),
        ("photo.jpg", b"\0\0\0\x1cftypheic\0\0\0\0mif1heic", "HEIC is not supported: install pillow-heif"),
        ("empty.heic", b"", "empty file"),
        ("noise.png", b"\x89PNG\r\n\x1a\nnoise", "damaged, or an unsupported kind of PNG"),
        ("cut.jpg", b"\xff\xd8\xff\xe0\x00", "damaged, or an unsupported kind of JPEG"),
        ("float.tif", b"II*\0\x08\0\0\0\0\0\0\0\0\0", "damaged, or an unsupported kind of TIFF"),
    ],
)
def test_the_reason_names_what_the_file_is(name, content, expected, tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "FORMATS", tuple(form for form in FORMATS if form != "HEIF"))
    (tmp_path / name).write_bytes(content)
    assert reason(tmp_path / name) == expected


def test_heic_is_read_where_pillow_heif_is_installed(tmp_path):
    pytest.importorskip("pillow_heif")
    (tmp_path / "photo.heic").write_bytes(saved(photo(), "HEIF", quality=95))
    assert np.abs(np.asarray(read_image(tmp_path / "photo.heic"), float) - np.asarray(photo(), float)).mean() < 6
    (tmp_path / "junk.heic").write_bytes(b"junk")
    assert reason(tmp_path / "junk.heic") == "not an image of a supported format"


def test_eps_named_jpg_never_starts_ghostscript(tmp_path, monkeypatch):
    from PIL import EpsImagePlugin

    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", lambda *_, **__: pytest.fail("Ghostscript was called"))
    path = tmp_path / "figure.jpg"
    path.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n%%EOF\n")
    with Image.open(path) as image:
        assert image.format == "EPS"
    assert reason(path) == "not an image of a supported format"


def test_a_truncated_jpeg_is_damaged_though_its_header_is_whole(tmp_path):
    content = saved(photo().resize((300, 200)), "JPEG")
    path = tmp_path / "half.jpg"
    path.write_bytes(content[: len(content) // 2])
    assert reason(path).startswith("damaged (image file is truncated (")


def test_a_decompression_bomb_is_refused_from_its_header(tmp_path):
    path = tmp_path / "bomb.png"
    path.write_bytes(saved(Image.new("1", (14000, 14000)), "PNG"))
    assert path.stat().st_size < 100_000
    assert reason(path) == "too many pixels to decode safely"


def test_paths_that_lead_to_no_file_have_their_reason(tmp_path):
    (tmp_path / "dangling.jpg").symlink_to(tmp_path / "gone.jpg")
    (tmp_path / "circle.jpg").symlink_to(tmp_path / "circle.jpg")
    (tmp_path / "folder.jpg").mkdir()
    (tmp_path / "file").touch()
    assert reason(tmp_path / "missing.jpg") == "no such file"
    assert reason(tmp_path / "dangling.jpg") == "link to a missing file"
    assert reason(tmp_path / "circle.jpg") == "too many levels of symbolic links"
    assert reason(tmp_path / "folder.jpg") == "is a folder"
    assert reason(tmp_path / "file" / "photo.jpg") == "not a directory"
    assert reason(tmp_path / ("x" * 300)) == "file name too long"
    assert reason(tmp_path / "null\0.jpg") == "damaged (embedded null byte)"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_and_not_waited_on(tmp_path):
    os.mkfifo(tmp_path / "pipe.jpg")
    assert reason(tmp_path / "pipe.jpg") == "not a regular file"


def test_a_file_that_may_not_be_read_says_so(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "secret.jpg"
    path.write_bytes(saved(photo(), "JPEG"))
    monkeypatch.setattr(reader.Image, "open", refuse)  # chmod would not stop root
    assert reason(path) == "no permission to read it"


def test_only_the_head_of_a_strange_file_is_read(tmp_path):
    path = tmp_path / "video.jpg"
    with open(path, "wb") as file:
        file.write(b"not an image")
        file.truncate(1 << 36)  # a sparse file: it would not fit into memory
    assert reason(path) == "not an image of a supported format"


def test_importing_it_stays_light():
    code = "import sys, data.reader; print({'torch', 'torchvision', 'fastai'} & {*sys.modules})"
    root = Path(reader.__file__).parents[1]
    assert subprocess.check_output([sys.executable, "-c", code], cwd=root, text=True).strip() == "set()"
