"""The images of one split, to measure a model on: python -m pytest tests/data/test_labelled.py"""

import re
import shutil
from collections import Counter

import pytest

import data
from data import DataError
from data.labelled import SPLITS, labelled


def counts(found):
    return Counter((sample.source.parent.parent.name, sample.label) for sample in found.samples)


@pytest.fixture
def three(photo_folder):
    """train/, valid/ and test/, which has one image of one class."""
    root = photo_folder(train=3, valid=2)
    (root / "test" / "dog").mkdir(parents=True)
    shutil.copy(root / "train" / "dog" / "00.jpg", root / "test" / "dog" / "new.jpg")
    return root


TRAIN = {("train", "cat"): 3, ("train", "dog"): 3}
VALID = {("valid", "cat"): 2, ("valid", "dog"): 2}
TEST = {("test", "dog"): 1}


@pytest.mark.parametrize(
    ("split", "expected"), [("train", TRAIN), ("valid", VALID), ("test", TEST), ("all", TRAIN | VALID | TEST)]
)
def test_splits_of_a_folder(three, split, expected):
    found = labelled(three, split)
    assert counts(found) == expected
    assert (found.sentence, found.skipped) == (
        {
            "train": "train/ and valid/; split train",
            "valid": "train/ and valid/; split valid",
            "test": "train/ and test/; split test",
            "all": "train/ and valid/; all images",
        }[split],
        [],
    )


@pytest.mark.parametrize("split", SPLITS)
def test_splits_of_a_table(three, split, tmp_path):
    paths = sorted(path.relative_to(three) for path in three.rglob("*.jpg"))
    lines = ["path,label,split", *(f"{path},{path.parent.name},{path.parts[0]}" for path in paths)]
    (tmp_path / "labels.csv").write_text("\n".join(lines))
    assert counts(labelled(three, split, csv=tmp_path / "labels.csv")) == counts(labelled(three, split))


@pytest.mark.parametrize("seed", [42, 7])
def test_a_drawn_split_is_that_of_a_training(photo_folder, seed):
    root = photo_folder(train=10, valid=0) / "train"
    scan = data.scan(root, seed=seed, valid_pct=0.3)
    assert labelled(root, "valid", seed=seed, valid_pct=0.3).samples == scan.valid
    assert labelled(root, "train", seed=seed, valid_pct=0.3).samples == scan.train
    said = labelled(root, "valid", seed=seed).sentence
    assert said == (
        f"one folder per class; 20% of each class, drawn with seed {seed} as a training with it draws its valid split"
    )
    assert len(labelled(root, "all").samples) == 20


@pytest.mark.parametrize("split", ["test", "all", "valid"])
def test_a_folder_for_tests_alone(three, split):
    """Valid takes it too, as a training does where it is the only one held out."""
    for name in ("train", "valid"):
        shutil.rmtree(three / name)
    found = labelled(three, split)
    assert (counts(found), found.sentence) == (TEST, "test/ alone; all images")
    with pytest.raises(DataError, match="has test/ but no train/"):
        labelled(three, "train")


def test_one_class_alone_and_a_file_that_cannot_be_read(photo_folder):
    root = photo_folder(classes=("cat",), train=3, valid=0) / "train"
    (root / "cat" / "empty.jpg").touch()
    found = labelled(root, "all")
    assert {sample.label for sample in found.samples} == {"cat"}
    assert found.skipped == [(root / "cat" / "empty.jpg", "empty file")]
    assert found.notices == [f"1 file left out (empty), the first {root}/cat/empty.jpg: empty file"]


def test_a_class_that_train_lacks_can_be_measured_on(photo_folder):
    root = photo_folder(classes=("cat", "dog", "emu"), train=2, valid=2)
    (root / "train" / "dog").rename(root / "elsewhere")
    assert {sample.label for sample in labelled(root, "valid").samples} == {"cat", "dog", "emu"}
    with pytest.raises(DataError, match="only in validation"):
        data.scan(root)


def test_no_such_split(photo_folder):
    root = photo_folder()
    with pytest.raises(DataError, match=f"^{re.escape(str(root))} has no split named test: give --split valid, train"):
        labelled(root, "test")


def test_nothing_can_be_read(photo_folder):
    root = photo_folder(train=1, valid=1)
    for path in (root / "valid").rglob("*.jpg"):
        path.write_bytes(b"")
    with pytest.raises(DataError) as caught:
        labelled(root, "valid")
    first = root / "valid" / "cat" / "00.jpg"
    assert str(caught.value) == f"{root}: no image of split 'valid' can be read, the first {first}: empty file"


def test_images_that_end_early(photo_folder):
    root = photo_folder()
    path = root / "valid" / "cat" / "00.jpg"
    path.write_bytes(path.read_bytes()[:-40])
    found = labelled(root, "valid")
    assert (len(found.samples), found.truncated) == (11, False)
    found = labelled(root, "valid", allow_truncated=True)
    assert (len(found.samples), found.truncated) == (12, True)
