"""Files of a model are complete or as they were, all of them.

python -m pytest tests/models/test_whole_file.py
"""

import errno
import os
import re

import pytest

from models.whole_file import whole_files


def test_they_appear_together_and_nothing_else_stays(tmp_path):
    paths = tmp_path / "weights", tmp_path / "description"
    with whole_files(*paths) as partials:
        for partial in partials:
            partial.write_text("whole")
            assert not any(path.exists() for path in paths)
    assert [path.read_text() for path in paths] == ["whole", "whole"]
    assert sorted(os.listdir(tmp_path)) == ["description", "weights"]


def test_all_are_flushed_before_the_first_is_moved(tmp_path, monkeypatch):
    order = []
    flush, rename = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda descriptor: order.append("flush") or flush(descriptor))
    monkeypatch.setattr(os, "replace", lambda *paths: order.append("rename") or rename(*paths))
    with whole_files(tmp_path / "one", tmp_path / "two") as partials:
        for partial in partials:
            partial.write_text("whole")
    assert order == ["flush", "flush", "rename", "rename"]


def test_a_failure_leaves_all_as_they_were(tmp_path):
    paths = tmp_path / "one", tmp_path / "two"
    for path in paths:
        path.write_text("before")
    with pytest.raises(ZeroDivisionError), whole_files(*paths) as partials:
        partials[1].write_text(f"{partials[0].write_text('whole') / 0}")
    assert [path.read_text() for path in paths] == ["before", "before"]
    assert sorted(os.listdir(tmp_path)) == ["one", "two"]


def test_an_error_names_the_file_that_was_to_be(tmp_path):
    path = tmp_path / "model.json"
    with (
        pytest.raises(OSError, match=re.escape(str(path))) as raised,
        whole_files(tmp_path / "model", path) as partials,
    ):
        raise OSError(errno.ENOSPC, "No space left on device", str(partials[1]))
    assert raised.value.errno == errno.ENOSPC
    assert raised.value.filename == str(path)


def test_a_link_is_followed(tmp_path):
    (tmp_path / "store").mkdir()
    link = tmp_path / "model.pkl"
    link.symlink_to(tmp_path / "store" / "model-1.pkl")
    with whole_files(link) as (partial,):
        partial.write_text("whole")
    assert link.is_symlink()
    assert (tmp_path / "store" / "model-1.pkl").read_text() == "whole"


def test_where_nothing_can_be_written_the_file_is_named(tmp_path):
    wanted = tmp_path / "no" / "model.safetensors"
    with pytest.raises(FileNotFoundError) as raised, whole_files(wanted):
        raise AssertionError("not reached")
    assert raised.value.filename == str(wanted)
