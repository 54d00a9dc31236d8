"""Where CIFAR-10's files are looked for, read from and downloaded to, with files of a few bytes.

python -m pytest tests/data/test_cifar10_files.py
"""

import hashlib
import shutil
import socket
import tarfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from data.cifar10_files import ARCHIVE, BATCHES, FILES, FOLDER, META, cache_dir, find_source, read_files
from data.errors import DataError

# Long enough that the archive has a middle at which it can be cut.
CONTENTS = {name: hashlib.sha512(name.encode()).digest() * 20 for name in FILES}


@pytest.fixture
def whole(tmp_path):
    """A data folder that holds the unpacked batches."""
    folder = tmp_path / "whole" / FOLDER
    folder.mkdir(parents=True)
    for name, content in CONTENTS.items():
        (folder / name).write_bytes(content)
    return folder.parent


@pytest.fixture
def archive(whole, tmp_path):
    """The same as an archive, in a folder of its own."""
    path = tmp_path / "archive" / ARCHIVE
    path.parent.mkdir()
    with tarfile.open(path, "w:gz", compresslevel=1) as tar:
        for name in reversed(FILES):
            tar.add(whole / FOLDER / name, f"{FOLDER}/{name}")
    return path


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


def contents(data_dir: Path | None = None) -> dict[str, bytes]:
    return dict(read_files(find_source(data_dir)))


def message(data_dir: Path | None = None) -> str:
    with pytest.raises(DataError) as caught:
        contents(data_dir)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_folder_above_the_batches(whole):
    assert contents(whole) == CONTENTS


def test_the_folder_of_the_batches(whole):
    assert contents(whole / FOLDER) == CONTENTS


def test_the_archive_is_read_and_its_folder_left_alone(archive):
    before = archive.stat()
    archive.parent.chmod(0o555)
    try:
        assert contents(archive.parent) == CONTENTS
    finally:
        archive.parent.chmod(0o755)
    assert list(archive.parent.iterdir()) == [archive]
    assert archive.stat().st_mtime_ns == before.st_mtime_ns


def test_half_an_unpacked_folder_gives_way_to_the_archive(archive, tmp_path):
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / BATCHES[0]).write_bytes(b"half")
    (tmp_path / ARCHIVE).symlink_to(archive)
    assert contents(tmp_path) == CONTENTS


def test_nothing_there_lists_what_is_expected(tmp_path):
    for data_dir in (tmp_path, tmp_path / "missing"):
        assert message(data_dir) == (
            f"{data_dir}: no CIFAR-10 here; expected cifar-10-python.tar.gz, or the folder "
            "cifar-10-batches-py (or to be that folder) with batches.meta, data_batch_1, "
            "data_batch_2, data_batch_3, data_batch_4, data_batch_5, test_batch"
        )


def test_a_truncated_archive_is_named_and_can_be_replaced(archive, tmp_path):
    mine = tmp_path / ARCHIVE
    content = archive.read_bytes()
    mine.write_bytes(content[: len(content) // 2])
    text = message(tmp_path)
    assert text.startswith(f"{mine}: truncated or damaged (")
    assert text.endswith("); delete it and get it again")
    mine.write_bytes(content)
    assert contents(tmp_path) == CONTENTS


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
    assert contents() == CONTENTS
    assert list(kept.parent.iterdir()) == [kept]
    cut_the_network(monkeypatch)
    assert contents() == CONTENTS


def test_a_truncated_download_leaves_nothing_and_the_next_run_works(official, archive):
    served, kept = official
    served.write_bytes(archive.read_bytes()[:1000])
    assert "(what came has not the md5 " in message()
    assert list(kept.parent.iterdir()) == []
    shutil.copy(archive, served)
    assert contents() == CONTENTS
    assert kept.is_file()


def test_a_damaged_archive_in_the_cache_is_downloaded_again(official, archive):
    _, kept = official
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"part")
    assert contents() == CONTENTS
    assert kept.read_bytes() == archive.read_bytes()


def test_no_network_says_where_to_put_the_archive(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cut_the_network(monkeypatch)
    cache = tmp_path / "fastsight" / "cifar10"
    text = message()
    assert text.startswith("CIFAR-10 could not be downloaded (<urlopen error ")
    assert text.endswith(
        f"): run again with a network, put cifar-10-python.tar.gz into {cache}, or give its folder as --data-dir"
    )
    assert socket.getdefaulttimeout() is None
    (cache / ARCHIVE).write_bytes(b"part")
    md5 = hashlib.md5(b"part").hexdigest()
    assert message().startswith(f"{cache / ARCHIVE} is damaged (md5 {md5}, not ")
    assert (cache / ARCHIVE).read_bytes() == b"part"


def test_the_cache_is_in_the_home_folder_by_default(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_dir() == tmp_path / ".cache" / "fastsight" / "cifar10"


def test_the_names_are_torchvisions():
    from torchvision.datasets import CIFAR10

    assert (
        CIFAR10.filename,
        CIFAR10.base_folder,
        CIFAR10.meta["filename"],
    ) == (ARCHIVE, FOLDER, META)
    assert tuple(name for name, _ in CIFAR10.train_list + CIFAR10.test_list) == BATCHES
