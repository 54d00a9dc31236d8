"""What a scan finds in a folder, what it says, and when it refuses.

python -m pytest tests/data/test_scan.py
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

import data
from data import DataError, cifar10, scan

EXPECTED = "expected one folder per class, or train/ and valid/ that hold one folder per class"


def message(root: Path) -> str:
    with pytest.raises(DataError) as caught:
        scan(root)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def listing(root: Path) -> list[tuple[Path, int, int]]:
    paths = [root, *sorted(root.rglob("*"))]
    return [(path, path.lstat().st_mtime_ns, path.lstat().st_size) for path in paths]


def test_the_small_base(photo_folder):
    root = photo_folder()
    found = scan(root)
    assert (found.source, found.layout) == (str(root), "train/ and valid/")
    assert (found.classes, found.side, found.stats) == (["cat", "dog"], 48, None)
    assert (len(found.train), len(found.valid)) == (24, 12)
    assert found.train[0] == data.Sample(root / "train" / "cat" / "00.jpg", "cat")
    assert {sample.label for sample in found.valid} == {"cat", "dog"}
    assert (found.notices, found.skipped) == ([], [])


def test_it_imports_neither_torch_nor_fastai(photo_folder):
    code = (
        "import sys, data; print(len(data.scan(sys.argv[1]).train));"
        "print({'torch', 'torchvision', 'fastai', 'fastcore'} & {*sys.modules})"
    )
    root = Path(data.__file__).parents[1]
    command = [sys.executable, "-c", code, str(photo_folder())]
    assert subprocess.check_output(command, cwd=root, text=True).split() == ["24", "set()"]


def test_side_is_the_median_of_the_longer_sides(photo_folder):
    root = photo_folder(train=2, valid=1)
    for index, size in enumerate([(10, 64), (300, 20), *[(100, 90)] * 5]):
        Image.new("RGB", size).save(root / "train" / "cat" / f"more{index}.png")
    assert scan(root).side == 64  # the seventh of thirteen, six of which are 48


def test_class_names_that_are_numbers_stay_names(photo_folder):
    root = photo_folder(classes=("1", "2", "10"))
    found = scan(root)
    assert found.classes == ["1", "10", "2"]
    for sample in found.train + found.valid:
        assert sample.source.parent.name == sample.label


# Splits


@pytest.mark.parametrize("part", ["", "train"])
def test_without_a_split_one_is_drawn_and_said(part, photo_folder):
    root = photo_folder(valid=0) / part
    found = scan(root, valid_pct=0.25, seed=7)
    layout = "one folder per class" if part else "train/ alone"
    assert found.layout == f"{layout}; no validation split, so 25% of each class drawn with seed 7"
    assert [sample.label for sample in found.valid] == ["cat"] * 3 + ["dog"] * 3
    assert len({sample.source for sample in found.train + found.valid}) == 24
    assert scan(root, valid_pct=0.25, seed=7) == found
    assert scan(root, valid_pct=0.25, seed=8).valid != found.valid


def test_limit_holds_for_each_split(photo_folder):
    found = scan(photo_folder(), limit=4)
    for samples in (found.train, found.valid):
        assert sorted(sample.label for sample in samples) == ["cat", "cat", "dog", "dog"]


def test_limit_below_the_number_of_classes(photo_folder):
    with pytest.raises(DataError, match=r"^--limit 1 is below the number of classes \(2\): raise it$"):
        scan(photo_folder(), limit=1)


# Classes of the two splits


def test_a_class_that_only_validation_has_is_an_error(photo_folder):
    root = photo_folder()
    shutil.copytree(root / "valid" / "cat", root / "valid" / "zebra")
    shutil.copytree(root / "valid" / "cat", root / "valid" / "yak")
    assert message(root) == f"{root}: 2 classes only in validation: yak, zebra; add to train/ or remove"


def test_many_classes_are_listed_in_part(photo_folder):
    root = photo_folder()
    for name in "abcdefg":
        shutil.copytree(root / "valid" / "cat", root / "valid" / name)
    assert message(root) == f"{root}: 7 classes only in validation: a, b, c, d, e, ...; add to train/ or remove"


def test_a_class_that_validation_lacks_keeps_its_place(photo_folder):
    root = photo_folder(classes=("ant", "bee", "cat"))
    shutil.rmtree(root / "valid" / "ant")
    found = scan(root)
    assert found.classes == ["ant", "bee", "cat"]
    assert {sample.label for sample in found.valid} == {"bee", "cat"}
    assert found.notices == ["1 class without validation images: ant"]


def test_a_class_too_small_to_split_is_said(photo_folder):
    root = photo_folder(valid=0)
    for path in sorted((root / "train" / "dog").iterdir())[1:]:
        path.unlink()
    imbalance, notice = scan(root).notices
    assert imbalance.startswith("classes out of balance, 12 to 1")
    assert notice == "1 class without validation images: dog"


@pytest.mark.parametrize("valid", [6, 0])
def test_a_single_class_is_an_error(valid, photo_folder):
    root = photo_folder(classes=["cat"], valid=valid)
    assert message(root) == f"{root} has 1 class: a classifier needs two or more ({EXPECTED})"


# Files that cannot be read


def test_a_table_with_one_label_is_told_of_labels(photo_folder, tmp_path):
    root = photo_folder()
    table = tmp_path / "labels.csv"
    table.write_text("path,label\n" + "\n".join(f"train/cat/{n:02}.jpg,cat" for n in range(6)))
    with pytest.raises(DataError) as raised:
        scan(root, csv=table)
    expected = "expected different labels in its column"
    assert str(raised.value) == f"{table} has 1 class: a classifier needs two or more ({expected})"


def test_unreadable_files_are_left_out_each_with_its_reason(photo_folder):
    root = photo_folder()
    cat, dog = root / "train" / "cat", root / "valid" / "dog"
    (cat / "dangling.jpg").symlink_to(root / "gone.jpg")
    (cat / "empty.jpg").touch()
    (dog / "page.jpg").write_text("<html>")
    found = scan(root)
    assert (len(found.train), len(found.valid)) == (24, 12)
    assert found.skipped == [
        (cat / "dangling.jpg", "link to a missing file"),
        (cat / "empty.jpg", "empty file"),
        (dog / "page.jpg", "not an image of a supported format"),
    ]
    assert found.notices == [
        f"1 file left out (missing), the first {cat / 'dangling.jpg'}: link to a missing file",
        f"1 file left out (empty), the first {cat / 'empty.jpg'}: empty file",
        f"1 file left out (not-an-image), the first {dog / 'page.jpg'}: not an image of a supported format",
    ]


def test_a_class_without_a_readable_image_is_an_error(photo_folder):
    root = photo_folder()
    bird = root / "train" / "bird"
    bird.mkdir()
    (bird / "a.jpg").touch()
    assert message(root) == (
        f"class 'bird': 1 of 1 files cannot be read, more than half of it, the first {bird / 'a.jpg'}: empty file"
    )


def test_files_left_out_by_name_are_in_the_list_too(photo_folder):
    root = photo_folder()
    (root / "train" / "cat" / "notes.txt").touch()
    found = scan(root)
    assert found.skipped == [(root / "train" / "cat" / "notes.txt", ".txt: not that of an image")]
    assert len(found.notices) == 1


@pytest.mark.parametrize("split", ["train", "valid"])
def test_no_readable_image_in_a_split(split, photo_folder):
    root = photo_folder()
    for path in (root / split).glob("*/*"):
        path.write_bytes(b"")
    expected = {
        "train": f"{root}: none of its training images can be read, the first {root}/train/cat/00.jpg: empty file",
        "valid": f"{root}: no readable image to validate on",
    }
    assert message(root) == expected[split]


def test_a_read_only_folder_works_and_nothing_is_written(photo_folder):
    root = photo_folder()
    folders = [path for path in root.rglob("*") if path.is_dir()] + [root]
    for folder in folders:
        folder.chmod(0o555)
    before = listing(root)
    try:
        assert len(scan(root).train) == 24
        if os.geteuid() != 0:  # root may write anywhere: the comparison alone tells
            with pytest.raises(PermissionError):
                (root / "x").touch()
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert listing(root) == before


# CIFAR-10


def test_cifar10_by_name(monkeypatch, tmp_path):
    images, labels = np.zeros((20, 32, 32, 3), np.uint8), np.arange(20) % 10
    names = [f"class{i}" for i in range(10)]
    arrays = SimpleNamespace(
        train_images=images, train_labels=labels, valid_images=images, valid_labels=labels[::-1], classes=names
    )
    asked = []
    monkeypatch.setattr(cifar10, "load_cifar10", lambda folder: asked.append(folder) or arrays)
    found = scan("cifar10", data_dir=str(tmp_path), limit=10)
    assert asked == [tmp_path]
    assert (found.source, found.classes, found.side) == ("cifar10", names, 32)
    assert found.stats == ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))
    assert sorted(sample.label for sample in found.train) == sorted(sample.label for sample in found.valid) == names
    assert found.train[0].source.shape == (32, 32, 3)
