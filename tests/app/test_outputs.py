"""Files written for the user: complete or not there, and never over what he gave.

python -m pytest tests/app/test_outputs.py
"""

import errno
import os
import threading

import pytest

from app.errors import UsageError
from app.outputs import printable, refuse_folder, refuse_overwriting, written


def test_a_file_appears_when_it_is_whole(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("before")
    with written(path) as temporary:
        temporary.write_text("after")
        assert path.read_text() == "before"
    assert path.read_text() == "after"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_what_fails_leaves_the_file_as_it_was_and_names_it(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("before")

    def fill_the_disk():
        with written(path) as temporary:
            temporary.write_text("half")
            raise OSError(errno.ENOSPC, "No space left on device", str(temporary))

    with pytest.raises(OSError, match="No space left on device") as caught:
        fill_the_disk()
    assert (caught.value.filename, path.read_text(), os.listdir(tmp_path)) == (str(path), "before", ["out.csv"])


def test_a_link_is_followed(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with written(tmp_path / "link") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_a_pipe_is_written_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    with written(pipe) as path:
        path.write_text("through")
    reader.join(5)
    assert (read, pipe.is_fifo()) == (["through"], True)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("folder", "-o folder is a folder: give a file name"),
        ("missing/out.csv", "-o missing/out.csv: the folder missing does not exist"),
        ("photo.jpg", "-o photo.jpg is read by this command: choose another name"),
        ("link.jpg", "-o link.jpg is read by this command: choose another name"),
    ],
)
def test_what_is_read_is_not_written(name, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    photo = tmp_path / "photo.jpg"
    photo.write_bytes(b"a photo")
    (tmp_path / "link.jpg").symlink_to(photo)
    with pytest.raises(UsageError) as caught:
        refuse_overwriting("-o", type(tmp_path)(name), [photo, tmp_path / "gone.jpg"])
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("file", "--plots file is a file: give a folder"),
        ("file/deeper/plots", "--plots file/deeper/plots: {here}/file is a file: give a folder"),
        ("dangling", "--plots dangling is a dangling link: give a folder"),
        ("photos/new/plots", "--plots photos/new/plots lies inside the data set photos: nothing is written there, "),
        ("photos", "--plots photos lies inside the data set photos: nothing is written there, choose another"),
        ("link/plots", "--plots link/plots lies inside the data set photos: nothing is written there, choose another"),
    ],
)
def test_a_folder_that_could_not_be_written_into(name, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "photos").mkdir()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "link").symlink_to(tmp_path / "photos")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError) as caught:
        refuse_folder("--plots", type(tmp_path)(name), ["photo.jpg", None, "photos"])
    assert str(caught.value).startswith(message.format(here=tmp_path))
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write everywhere")
def test_a_locked_folder(tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    for path in (locked, locked / "new" / "plots"):
        with pytest.raises(UsageError) as caught:
            refuse_folder("--plots", path)
        assert str(caught.value) == f"--plots {path}: {locked} cannot be written: choose another place"


def test_a_folder_that_is_there_or_can_be_made(tmp_path):
    (tmp_path / "photos").mkdir()
    for path in (tmp_path, tmp_path / "new" / "plots", tmp_path / "photos-plots"):
        refuse_folder("--plots", path, [str(tmp_path / "photos")])
    assert [path.name for path in tmp_path.iterdir()] == ["photos"]


def test_a_line_stays_a_line():
    assert printable("a\nb\x1b[31m 日本 \udcff") == "a\\nb\\x1b[31m 日本 \\udcff"
    persian, family = "می\u200cروم", "👨\u200d👩\u200d👧"  # joiners are parts of words and of pictures
    assert (printable(persian), printable(family)) == (persian, family)
