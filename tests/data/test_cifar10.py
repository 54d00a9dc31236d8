"""CIFAR-10 from small fakes, one of full size: what is checked and refused.

python -m pytest tests/data/test_cifar10.py
"""

import os
import pickle
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest

from data import cifar10
from data.cifar10 import load_cifar10
from data.cifar10_files import ARCHIVE, BATCHES, FILES, FOLDER, META
from data.errors import DataError

NAMES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
ROWS = 200  # per fake batch: full size is 10,000 and takes a second each time
LABELS = np.arange(ROWS) % 10


@pytest.fixture
def full_size():
    """Keep the official 10,000 rows per batch."""


@pytest.fixture(autouse=True)
def small_batches(request, monkeypatch):
    if "full_size" not in request.fixturenames:
        monkeypatch.setattr(cifar10, "BATCH_ROWS", ROWS)
        monkeypatch.setattr(cifar10, "TRAIN_ROWS", 5 * ROWS)


def pixels(first: int = 0, rows: int = ROWS) -> np.ndarray:
    """Images i from `first`: red is i % 251, green the column, blue 100 + the row."""
    planes = np.zeros((rows, 3, 32, 32), np.uint8)
    planes[:, 0] = (np.arange(first, first + rows) % 251)[:, None, None]
    planes[:, 1] = np.arange(32)
    planes[:, 2] = 100 + np.arange(32)[:, None]
    return planes.reshape(rows, 3072)


def dump(path: Path, **batch: object) -> None:
    path.write_bytes(pickle.dumps(batch, protocol=2))


def python2_batch(data: np.ndarray, labels: list[int]) -> bytes:
    """The official files' form: Python 2 wrote text and raw bytes alike, as opcodes U and T."""
    raw = data.tobytes()
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85U\x01btR"
        b"(K\x01M" + len(data).to_bytes(2, "little") + b"M\x00\x0c\x86cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R"
        b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89"
    )
    array += b"T" + len(raw).to_bytes(4, "little") + raw + b"tb"
    numbers = b"".join(b"K" + bytes([label]) for label in labels)
    return b"\x80\x02}(U\x04data" + array + b"U\x06labels](" + numbers + b"eu."


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Unpacked batches in a data folder; one as Python 2 wrote it, one with bytes keys."""
    root = tmp_path_factory.mktemp("cifar")
    folder = root / FOLDER
    folder.mkdir()
    for i, name in enumerate(BATCHES):
        dump(folder / name, data=pixels(i * ROWS), labels=LABELS.tolist(), filenames=["a.png"])
    (folder / BATCHES[0]).write_bytes(python2_batch(pixels(), LABELS.tolist()))
    as_bytes = {b"data": pixels(2 * ROWS), b"labels": LABELS.tolist()}
    (folder / BATCHES[2]).write_bytes(pickle.dumps(as_bytes, protocol=4))
    dump(folder / META, label_names=NAMES, num_vis=3072)
    return root


@pytest.fixture(scope="module")
def archive(whole, tmp_path_factory):
    """The same as an archive, in a folder of its own."""
    path = tmp_path_factory.mktemp("archive") / ARCHIVE
    with tarfile.open(path, "w:gz", compresslevel=1) as tar:
        for name in reversed(FILES):
            tar.add(whole / FOLDER / name, f"{FOLDER}/{name}")
    return path


@pytest.fixture
def links(whole, tmp_path):
    """A folder whose files are links to the whole ones, so that a test can replace one."""
    for name in FILES:
        (tmp_path / name).symlink_to(whole / FOLDER / name)
    return tmp_path


def replace(path: Path, content: bytes) -> None:
    path.unlink()
    path.write_bytes(content)


def message(data_dir: Path | None) -> str:
    with pytest.raises(DataError) as caught:
        load_cifar10(data_dir)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def check(cifar: cifar10.Cifar10) -> None:
    assert cifar.classes == NAMES
    for images, labels, first, count in (
        (cifar.train_images, cifar.train_labels, 0, 5 * ROWS),
        (cifar.valid_images, cifar.valid_labels, 5 * ROWS, ROWS),
    ):
        assert (images.shape, images.dtype) == ((count, 32, 32, 3), np.uint8)
        assert images.flags.c_contiguous
        assert (labels.shape, labels.dtype) == ((count,), np.int64)
        assert np.array_equal(labels, np.arange(count) % 10)
        # Red, green, blue of the pixel in row 5, column 9.
        expected = [[i % 251, 9, 105] for i in range(first, first + count)]
        assert images[:, 5, 9].tolist() == expected


# Whole data


def test_a_folder_of_batches(whole):
    check(load_cifar10(whole))


def test_an_archive(archive):
    check(load_cifar10(archive.parent))


def test_batches_of_full_size(tmp_path, full_size):
    dump(tmp_path / "batch", data=pixels(rows=10_000), labels=(np.arange(10_000) % 10).tolist())
    for name in BATCHES:
        (tmp_path / name).symlink_to("batch")
    dump(tmp_path / META, label_names=NAMES)
    cifar = load_cifar10(tmp_path)
    assert cifar.train_images.shape == (50_000, 32, 32, 3)
    assert cifar.valid_images[77, 5, 9].tolist() == [77, 9, 105]
    assert np.bincount(cifar.train_labels).tolist() == [5000] * 10
    assert np.bincount(cifar.valid_labels).tolist() == [1000] * 10


def test_an_incomplete_folder_names_what_is_missing(links):
    (links / META).unlink()
    (links / "data_batch_3").unlink()
    expected = f"{links}: incomplete, without batches.meta, data_batch_3; get it again"
    assert message(links) == expected


def test_importing_it_stays_light():
    code = "import sys, data.cifar10; print({'torch', 'torchvision', 'fastai'} & {*sys.modules})"
    root = Path(cifar10.__file__).parents[1]
    command = [sys.executable, "-c", code]
    assert subprocess.check_output(command, cwd=root, text=True).strip() == "set()"


# Damaged or unsafe files


class Touch:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("name", [META, "data_batch_1"])
def test_a_pickle_with_code_is_refused_and_not_run(links, name):
    trap = links / "trap"
    replace(links / name, pickle.dumps({"data": Touch(trap)}, protocol=2))
    assert message(links) == (
        f"{links / name}: refused, this pickle asks for {os.mkdir.__module__}.mkdir, which data "
        "does not need; get the file from a source you trust"
    )
    assert not trap.exists()


def test_plain_values_of_numpy_are_allowed(links):
    dump(links / "first", data=pixels(), labels=list(LABELS))  # each label a NumPy integer
    replace(links / BATCHES[0], (links / "first").read_bytes())
    check(load_cifar10(links))


@pytest.mark.parametrize("content", [b"", b"not a pickle", b"\x80\x02}(U\x04da"])
def test_a_damaged_pickle_names_its_file(links, content):
    replace(links / META, content)
    assert message(links).startswith(f"{links / META}: not a readable pickle (")


@pytest.mark.parametrize(
    ("batch", "problem"),
    [
        ({"data": np.zeros((ROWS, 3071), np.uint8)}, "'data' is uint8 (200, 3071), expected uint8"),
        ({"data": np.zeros((1, 3072), np.float32)}, "'data' is float32 (1, 3072), expected uint8"),
        ({"data": "text"}, "'data' is str, expected uint8 (200, 3072)"),
        ({"labels": [0] * 199}, "'labels' is int64 (199,), expected 200 integers"),
        ({"labels": [0.5] * 200}, "'labels' is float64 (200,), expected 200 integers"),
        ({"labels": [[0], [0, 1]]}, "'labels' is object (0,), expected 200 integers"),
        ({"labels": [0, 1, 10] + [0] * 197}, "row 2 has label 10, expected 0 to 9"),
        ({"labels": [-1] + [0] * 199}, "row 0 has label -1, expected 0 to 9"),
    ],
)
def test_a_wrong_batch_is_named(links, batch, problem):
    values = {"data": pixels(), "labels": LABELS.tolist()}
    (links / "data_batch_1").unlink()
    dump(links / "data_batch_1", **values | batch)
    assert message(links).startswith(f"{links / 'data_batch_1'}: {problem}")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ([1, 2], "holds a list, not a dict of ('label_names',)"),
        ({"fine_label_names": []}, "has no 'label_names', only ['fine_label_names']; is it"),
        ({"label_names": NAMES[:9]}, "'label_names' is not a list of 10 different names"),
        ({"label_names": [*NAMES, "cat"]}, "'label_names' is not a list of 10 different names"),
        ({"label_names": None}, "'label_names' is not a list of 10 different names"),
    ],
)
def test_wrong_class_names_are_named(links, content, problem):
    replace(links / META, pickle.dumps(content, protocol=2))
    assert message(links).startswith(f"{links / META}: {problem}")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("data_batch_5", "the training set has 101 images of class airplane, expected 100"),
        ("test_batch", "the test set has 21 images of class airplane, expected 20"),
    ],
)
def test_wrong_counts_are_named(links, name, problem):
    (links / name).unlink()
    dump(links / name, data=pixels(), labels=[*LABELS[:-1].tolist(), 0])
    assert message(links) == f"{links}: {problem}; get it again"
