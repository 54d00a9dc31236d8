"""Modes, depths, transparency and orientation: what a viewer shows.

python -m pytest tests/data/test_convert.py
"""

import io
import struct

import numpy as np
import pytest
from PIL import ExifTags, Image, ImageOps

from data.convert import to_rgb
from data.errors import ImageError
from data.reader import read_image

GREY = np.add.outer(np.arange(0, 160, 8), np.arange(0, 90, 3)).astype(np.uint8)  # 20 rows, 30 columns
COLOUR = np.stack([GREY, GREY[::-1], GREY[:, ::-1]], axis=2)
SMOOTH_LOSS = 6  # grey levels that a lossy format or a colour space may cost on average


def saved(image: Image.Image, form: str, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, form, **options)
    return stream.getvalue()


def pixels(content: bytes) -> np.ndarray:
    return np.asarray(read_image(content))


def is_grey(content: bytes, expected: np.ndarray) -> bool:
    return np.array_equal(pixels(content), np.repeat(expected[..., None], 3, axis=2))


# Orientation


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_a_tagged_copy_equals_the_rotated_one(form, orientation):
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = orientation
    options = {"lossless": True} if form == "WEBP" else {}
    tagged = saved(Image.fromarray(COLOUR), form, exif=exif, **options)
    with Image.open(io.BytesIO(tagged)) as image:
        rotated = ImageOps.exif_transpose(image)
    assert rotated.size == ((20, 30) if orientation > 4 else (30, 20))
    assert np.array_equal(pixels(tagged), np.asarray(rotated.convert("RGB")))


def test_the_result_carries_no_tag_that_would_turn_it_again():
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    image = read_image(saved(Image.fromarray(COLOUR), "JPEG", exif=exif))
    assert image.info == {}
    assert ImageOps.exif_transpose(image).size == image.size == (20, 30)


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP"])
def test_a_broken_exif_block_does_not_cost_the_photo(form):
    options = {"lossless": True} if form == "WEBP" else {}
    plain = saved(Image.fromarray(COLOUR), form, **options)
    broken = saved(Image.fromarray(COLOUR), form, exif=b"Exif\0\0junk", **options)
    assert np.array_equal(pixels(broken), pixels(plain))


def test_nonsense_beside_the_orientation_does_not_stop_it():
    # The maker's name as a fraction: `ImageOps.exif_transpose` fails when it writes the block anew.
    rational, short = 5, 3
    entries = struct.pack(">HHII", 0x10F, rational, 1, 38) + struct.pack(">HHIHH", 0x112, short, 1, 6, 0)
    block = b"Exif\0\0MM\0*" + struct.pack(">IH", 8, 2) + entries + bytes(4) + struct.pack(">II", 1, 2)
    tagged = saved(Image.fromarray(COLOUR), "JPEG", exif=block)
    with Image.open(io.BytesIO(tagged)) as image, pytest.raises(AttributeError):
        ImageOps.exif_transpose(image)
    assert read_image(tagged).size == (20, 30)


# Depth


@pytest.mark.parametrize("form", ["PNG", "TIFF"])
def test_sixteen_bits_are_scaled_and_the_mean_stays(form):
    assert is_grey(saved(Image.fromarray(GREY.astype(np.uint16) * 257), form), GREY)
    assert is_grey(saved(Image.fromarray(GREY.astype(np.uint16) * 257 + 100), form), GREY)  # rounded, not cut off


def test_sixteen_bits_in_colour_keep_their_mean():
    header = b"P6 30 20 65535\n"
    deep = pixels(header + (COLOUR.astype(">u2") * 257).tobytes())
    assert np.array_equal(deep, COLOUR)


@pytest.mark.parametrize("white", [255, 1023, 4095, 65535])
def test_a_pgm_is_scaled_by_the_white_in_its_header(white):
    values = np.rint(GREY * (white / 255)).astype(">u2" if white > 255 else np.uint8)
    assert is_grey(b"P5 30 20 %d\n" % white + values.tobytes(), GREY)


def tiff(values: bytes, width: int, bits: int, *, white_is_zero: bool = False, signed: bool = False) -> bytes:
    """One row of grey pixels, little-endian, without compression."""
    tags = [(256, width), (257, 1), (258, bits), (259, 1), (262, 0 if white_is_zero else 1), (273, 8)]
    tags += [(277, 1), (278, 1), (279, len(values)), (339, 2 if signed else 1)]
    directory = struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags)
    return b"II*\0" + struct.pack("<I", 8 + len(values)) + values + directory + bytes(4)


def test_twelve_bits_are_scaled_by_twelve_bits():
    packed = bytes([0x00, 0x08, 0x00, 0xFF, 0xF0, 0x00])  # 0, 2048, 4095, 0
    assert pixels(tiff(packed, 4, 12))[0, :, 0].tolist() == [0, 128, 255, 0]


def test_signed_sixteen_bits_have_fifteen_for_brightness():
    values = np.array([0, 16384, 32767], "<i2")
    assert pixels(tiff(values.tobytes(), 3, 16, signed=True))[0, :, 0].tolist() == [0, 128, 255]
    with pytest.raises(ImageError, match=r"^image bytes: pixel values from -5 to 0, expected 0 to 32767$"):
        read_image(tiff(np.array([0, -5, -1], "<i2").tobytes(), 3, 16, signed=True))


@pytest.mark.parametrize(("bits", "kind"), [(8, "u1"), (16, "<u2")])
def test_where_zero_is_white_the_picture_is_no_negative(bits, kind):
    values = np.array([0, 2**bits - 1], kind)
    assert pixels(tiff(values.tobytes(), 2, bits, white_is_zero=True))[0, :, 0].tolist() == [255, 0]


def test_thirty_two_bits_hold_eight_or_sixteen():
    for values in (GREY.astype(np.int32), GREY.astype(np.int32) * 257):
        assert is_grey(saved(Image.fromarray(values), "TIFF"), GREY)
    with pytest.raises(ImageError, match=r"pixel values from 0 to 70000, expected 0 to 255 or 0 to 65535$"):
        read_image(saved(Image.fromarray(np.array([[0, 70000]], np.int32)), "TIFF"))


@pytest.mark.parametrize("white", [1, 255])
def test_floats_are_scaled_from_either_range(white):
    values = (GREY * (white / GREY.max())).astype(np.float32)
    assert is_grey(saved(Image.fromarray(values), "TIFF"), np.rint(values * (255 / white)).astype(np.uint8))


@pytest.mark.parametrize(
    ("values", "found"), [([0, 300], "0 to 300"), ([-0.5, 1], "-0.5 to 1"), ([0, np.nan], "nan to nan")]
)
def test_floats_of_another_range_are_refused(values, found):
    with pytest.raises(ImageError) as caught:
        read_image(saved(Image.fromarray(np.array([values], np.float32)), "TIFF"))
    assert str(caught.value) == f"image bytes: pixel values from {found}, expected 0 to 1 or 0 to 255"


def test_one_bit_is_black_and_white():
    assert (
        pixels(saved(Image.fromarray(GREY > 100), "PNG")).tolist()
        == pixels(saved(Image.fromarray((GREY > 100).astype(np.uint8) * 255), "PNG")).tolist()
    )


# Colour spaces and transparency


@pytest.mark.parametrize(("mode", "form"), [("CMYK", "JPEG"), ("CMYK", "TIFF"), ("LAB", "TIFF"), ("YCbCr", "JPEG")])
def test_other_colour_spaces_keep_the_colours(mode, form):
    content = saved(Image.fromarray(COLOUR).convert(mode), form)
    assert np.abs(pixels(content).astype(float) - COLOUR).mean() < SMOOTH_LOSS


@pytest.mark.parametrize("mode", ["LA", "RGBA"])
def test_what_is_transparent_becomes_white(mode):
    image = Image.new("RGBA", (3, 1), (0, 0, 0, 255))
    image.putpixel((1, 0), (0, 0, 0, 128))
    image.putpixel((2, 0), (0, 0, 0, 0))
    shown = np.asarray(to_rgb(image.convert(mode)))
    assert shown[0].tolist() == [[0] * 3, [127] * 3, [255] * 3]


@pytest.mark.parametrize("transparency", [0, b"\x00\xff"])
def test_a_palette_with_transparency_is_put_on_white_without_a_warning(transparency, recwarn):
    image = Image.new("P", (2, 1))
    image.putpalette([10, 20, 30, 200, 100, 50])
    image.putpixel((1, 0), 1)
    content = saved(image, "PNG", transparency=transparency)
    assert pixels(content).tolist() == [[[255, 255, 255], [200, 100, 50]]]
    assert not recwarn.list


@pytest.mark.parametrize("deep", [False, True])
def test_the_one_transparent_grey_of_a_png_becomes_white(deep):
    scale = 257 if deep else 1
    image = Image.fromarray(np.array([[10, 60]], np.uint16 if deep else np.uint8) * scale)
    assert is_grey(saved(image, "PNG", transparency=10 * scale), np.array([[255, 60]], np.uint8))
