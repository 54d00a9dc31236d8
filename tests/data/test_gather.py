"""Many files: each decoded once, then remembered; in order, counted, and interrupted without harm.

python -m pytest tests/data/test_gather.py
"""

import os
import shutil

import numpy as np
import pytest
from PIL import Image

import data.gather
import data.inspect
from data.gather import gather_facts
from data.reader import read_image


@pytest.fixture
def files(tmp_path):
    """Twelve different images and one that ends early."""
    rng = np.random.default_rng(0)
    paths = [tmp_path / "photos" / f"{index:02d}.jpg" for index in range(13)]
    paths[0].parent.mkdir()
    for index, path in enumerate(paths):
        Image.fromarray(rng.integers(0, 256, (20 + index, 30, 3), np.uint8)).save(path)
    paths[5].write_bytes(paths[5].read_bytes()[:-300])
    return paths


@pytest.fixture
def reads(monkeypatch):
    """The paths that are decoded, as they come."""
    paths = []

    def counted(path, **options):
        paths.append(path)
        return read_image(path, **options)

    monkeypatch.setattr(data.inspect, "read_image", counted)
    return paths


@pytest.fixture
def look(tmp_path):
    return lambda files, **options: gather_facts(files, cache_file=tmp_path / "facts.sqlite", **options)


def test_facts_are_in_the_order_of_the_files(files, look):
    facts = look(files[::-1])
    assert [seen.height for seen in facts] == [20 + index for index in range(13)][::-1]
    assert [bool(seen.reason) for seen in facts] == [index == 7 for index in range(13)]
    assert facts[7].truncated


def test_a_second_look_decodes_nothing(files, look, reads):
    cold = look(files)
    assert sorted(reads) == sorted([*files, files[5]])  # what ends early is read once more for its picture
    reads.clear()
    assert look(files) == cold
    assert reads == []


def test_a_second_look_costs_one_stat_a_file(files, look, monkeypatch):
    look(files)
    stats = []
    stat = os.stat
    monkeypatch.setattr(os, "stat", lambda path, **options: stats.append(path) or stat(path, **options))
    look(files)
    assert sorted(path for path in stats if str(path).endswith(".jpg")) == files


def test_only_what_changed_is_decoded_again(files, look, reads):
    before = look(files)
    Image.new("RGB", (9, 9)).save(files[3])
    os.utime(files[4], ns=(0, 123))
    files[6].unlink()
    new = files[0].with_name("new.jpg")
    shutil.copy2(files[0], new)
    reads.clear()
    after = look([*files, new])
    assert sorted(reads) == sorted([files[3], files[4], files[6], new])
    assert (after[3].width, after[6].reason) == (9, "no such file")
    assert after[4] == before[4]
    assert after[13] == before[0]


def test_what_may_pass_is_looked_at_each_time(files, look, reads):
    link = files[0].with_name("link.jpg")
    link.symlink_to("later.jpg")
    assert look([link])[0].reason == "link to a missing file"
    shutil.copy(files[1], files[0].with_name("later.jpg"))
    assert look([link])[0].height == 21


def test_without_memory_every_file_is_decoded(files, look, reads, tmp_path):
    look(files, remember=False)
    look(files, remember=False)
    assert len(reads) == 2 * 14
    assert not (tmp_path / "facts.sqlite").exists()


def test_a_file_named_twice_is_decoded_once(files, look, reads):
    assert len(look([files[0], files[1], files[0]])) == 3
    assert sorted(reads) == files[:2]


def test_progress_counts_to_the_end(files, look):
    said = []
    look(files, progress=lambda done, total: said.append((done, total)))
    assert said == [(done, 13) for done in range(14)]
    said.clear()
    look(files, progress=lambda done, total: said.append((done, total)))
    assert said == [(13, 13)]


def test_what_was_seen_before_an_interruption_is_remembered(files, look, reads):
    def interrupt(done, total):
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        look(files, progress=interrupt)
    reads.clear()
    look(files)
    assert not set(files[:4]) & set(reads)


def test_no_files(look):
    assert look([]) == []
