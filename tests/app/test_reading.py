"""Images that threads read ahead come in their order, with an error in the place of those that cannot be read.

python -m pytest tests/app/test_reading.py
"""

import threading

from PIL import Image

from app.reading import AHEAD, MAX_THREADS, read_ahead
from data import ImageError


def sources(folder, count):
    for index in range(count):
        Image.new("RGB", (8, 8), (index, 0, 0)).save(folder / f"{index}.png")
        yield str(index), folder / f"{index}.png"


def test_they_come_in_their_order(tmp_path):
    found = list(read_ahead(sources(tmp_path, 100), lambda image: image.resize((4, 4)), 4))
    assert [name for name, _ in found] == [str(index) for index in range(100)]
    assert [image.getpixel((0, 0))[0] for _, image in found] == list(range(100))
    assert {image.size for _, image in found} == {(4, 4)}


def test_an_error_stands_in_its_place(tmp_path):
    (tmp_path / "bad.png").write_bytes(b"")
    files = [*sources(tmp_path, 1), ("bad", tmp_path / "bad.png"), ("bytes", (tmp_path / "0.png").read_bytes())]
    first, second, third = (image for _, image in read_ahead(files, lambda image: image, None))
    assert isinstance(second, ImageError)
    assert str(second) == f"{tmp_path}/bad.png: empty file"
    assert first.tobytes() == third.tobytes()


def test_no_more_are_read_than_will_be_needed_soon(tmp_path):
    asked = []

    def watched():
        for pair in sources(tmp_path, 2000):
            asked.append(pair)
            yield pair

    found = read_ahead(watched(), lambda image: image, None)
    next(found)
    assert len(asked) <= AHEAD * MAX_THREADS
    found.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("ThreadPoolExecutor")]


def test_none_at_all():
    assert list(read_ahead([], lambda image: image, None)) == []
