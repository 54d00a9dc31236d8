"""CIFAR-10 from small fakes, one of full size: where it is found, what is checked and refused.

python -m pytest tests/data/test_cifar10.py
"""

import hashlib
import os
import pickle
import shutil
import socket
import subprocess
import sys
import tarfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from data import cifar10
from data.cifar10 import ARCHIVE, BATCHES, FILES, FOLDER, META, load_cifar10
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


@pytest.fixture
def official(archive, tmp_path, monkeypatch):
    """torchvision's own download, of the fake archive, from a local server into an empty cache."""
    from torchvision.datasets import CIFAR10

    served, cache = tmp_path / "served", tmp_path / "cache"
    served.mkdir()
    shutil.copy(archive, served)
    handler = partial(SimpleHTTPRequestHandler, directory=str(served))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setattr(CIFAR10, "tgz_md5", hashlib.md5(archive.read_bytes()).hexdigest())
    monkeypatch.setattr(CIFAR10, "url", f"http://127.0.0.1:{server.server_port}/{ARCHIVE}")
    yield served / ARCHIVE, cache / "fastsight" / "cifar10" / ARCHIVE
    server.shutdown()
    server.server_close()


def cut_the_network(monkeypatch):
    from torchvision.datasets import CIFAR10

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]  # closed again: nobody answers here
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(CIFAR10, "url", f"http://127.0.0.1:{port}/{ARCHIVE}")


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


# Where it is looked for


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


def test_the_folder_above_the_batches(whole):
    check(load_cifar10(whole))


def test_the_folder_of_the_batches(whole):
    check(load_cifar10(whole / FOLDER))


def test_the_archive_is_read_and_its_folder_left_alone(archive):
    before = archive.stat()
    archive.parent.chmod(0o555)
    try:
        check(load_cifar10(archive.parent))
    finally:
        archive.parent.chmod(0o755)
    assert list(archive.parent.iterdir()) == [archive]
    assert archive.stat().st_mtime_ns == before.st_mtime_ns


def test_half_an_unpacked_folder_gives_way_to_the_archive(archive, tmp_path):
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / BATCHES[0]).write_bytes(b"half")
    (tmp_path / ARCHIVE).symlink_to(archive)
    check(load_cifar10(tmp_path))


def test_an_incomplete_folder_names_what_is_missing(links):
    (links / META).unlink()
    (links / "data_batch_3").unlink()
    expected = f"{links}: incomplete, without batches.meta, data_batch_3; get it again"
    assert message(links) == expected


def test_nothing_there_lists_what_is_expected(tmp_path):
    for data_dir in (tmp_path, tmp_path / "missing"):
        assert message(data_dir) == (
            f"{data_dir}: no CIFAR-10 here; expected cifar-10-python.tar.gz, or the folder "
            "cifar-10-batches-py (or to be that folder) with batches.meta, data_batch_1, "
            "data_batch_2, data_batch_3, data_batch_4, data_batch_5, test_batch"
        )


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


@pytest.mark.parametrize("call", [b"cbuiltins\neval\n", b"\x8c\x05numpy\x8c\x08core.sum\x93", b"c_codecs\ndecode\n"])
def test_only_exact_names_are_allowed(links, call):
    replace(links / META, b"\x80\x04" + call + b"X\x01\x00\x00\x001\x85R.")
    assert message(links).startswith(f"{links / META}: refused, this pickle asks for ")


def test_arrays_of_objects_and_other_codecs_are_refused(links):
    dump(links / "objects", data=np.array([None]))
    replace(links / META, (links / "objects").read_bytes())
    assert "an array of object, not of numbers" in message(links)
    replace(links / META, b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x001X\x03\x00\x00\x00hex\x86R.")
    assert "bytes in the encoding 'hex'" in message(links)


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
    assert message(links) == f"{links}: {problem}"


def test_a_truncated_archive_is_named_and_can_be_replaced(archive, tmp_path):
    mine = tmp_path / ARCHIVE
    content = archive.read_bytes()
    mine.write_bytes(content[: len(content) // 2])
    text = message(tmp_path)
    assert text.startswith(f"{mine}: truncated or damaged (")
    assert text.endswith("); delete it and get it again")
    replace(mine, content)
    load_cifar10(tmp_path)


def test_damage_that_only_the_checksum_shows(archive, tmp_path):
    content = bytearray(archive.read_bytes())
    content[-8] ^= 1  # gzip's CRC-32 of the contents
    (tmp_path / ARCHIVE).write_bytes(content)
    assert "truncated or damaged (CRC check failed" in message(tmp_path)


@pytest.mark.parametrize("content", [b"", b"<html>not found</html>"])
def test_what_is_no_archive_is_named(tmp_path, content):
    (tmp_path / ARCHIVE).write_bytes(content)
    assert message(tmp_path).startswith(f"{tmp_path / ARCHIVE}: truncated or damaged (")


# Downloading


def test_it_is_downloaded_once_and_kept(official, monkeypatch):
    _, kept = official
    check(load_cifar10())
    assert list(kept.parent.iterdir()) == [kept]
    cut_the_network(monkeypatch)
    check(load_cifar10())


def test_a_truncated_download_leaves_nothing_and_the_next_run_works(official, archive):
    served, kept = official
    served.write_bytes(archive.read_bytes()[:1000])
    assert "(what came has not the md5 " in message(None)
    assert list(kept.parent.iterdir()) == []
    shutil.copy(archive, served)
    load_cifar10()
    assert kept.is_file()


def test_a_damaged_archive_in_the_cache_is_downloaded_again(official, archive):
    _, kept = official
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"part")
    load_cifar10()
    assert kept.read_bytes() == archive.read_bytes()


def test_no_network_says_where_to_put_the_archive(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cut_the_network(monkeypatch)
    cache = tmp_path / "fastsight" / "cifar10"
    text = message(None)
    assert text.startswith("CIFAR-10 could not be downloaded (<urlopen error ")
    assert text.endswith(
        f"): run again with a network, put cifar-10-python.tar.gz into {cache}, or give its folder as --data-dir"
    )
    assert socket.getdefaulttimeout() is None
    (cache / ARCHIVE).write_bytes(b"part")
    md5 = hashlib.md5(b"part").hexdigest()
    assert message(None).startswith(f"{cache / ARCHIVE} is damaged (md5 {md5}, not ")
    assert (cache / ARCHIVE).read_bytes() == b"part"


def test_the_cache_is_in_the_home_folder_by_default(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cifar10.cache_dir() == tmp_path / ".cache" / "fastsight" / "cifar10"


def test_the_names_are_torchvisions():
    from torchvision.datasets import CIFAR10

    assert (
        CIFAR10.filename,
        CIFAR10.base_folder,
        CIFAR10.meta["filename"],
    ) == (ARCHIVE, FOLDER, META)
    assert tuple(name for name, _ in CIFAR10.train_list + CIFAR10.test_list) == BATCHES
