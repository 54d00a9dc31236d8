"""Which folders are splits, which are classes, and which are neither.

python -m pytest tests/data/test_folder.py
"""

import shutil
from pathlib import Path

import pytest

from data.errors import DataError
from data.folder import find_layout
from data.listing import image_files
from data.scan import scan

EXPECTED = "expected one folder per class, or train/ and valid/ that hold one folder per class"


def counts(root: Path) -> dict[str, dict[str, int]]:
    splits = find_layout(root).splits
    return {split: {label: len(files) for label, files in classes.items()} for split, classes in splits.items()}


def message(root: Path) -> str:
    with pytest.raises(DataError) as caught:
        find_layout(root)
    return str(caught.value)


SMALL_BASE = {"train": {"cat": 12, "dog": 12}, "valid": {"cat": 6, "dog": 6}}


def test_train_and_valid(photo_folder):
    root = photo_folder()
    layout = find_layout(root)
    assert counts(root) == SMALL_BASE
    assert (layout.sentence, layout.notices, layout.skipped) == ("train/ and valid/", [], [])
    assert layout.splits["train"]["cat"] == [root / "train" / "cat" / f"{i:02d}.jpg" for i in range(12)]


@pytest.mark.parametrize("name", ["val", "validation", "test", "Valid", "TEST"])
def test_other_names_of_valid(name, photo_folder):
    root = photo_folder()
    (root / "valid").rename(root / name)
    assert counts(root) == SMALL_BASE
    assert find_layout(root).sentence == f"train/ and {name}/"


def test_the_case_of_train_does_not_matter(photo_folder):
    root = photo_folder()
    (root / "train").rename(root / "Train")
    assert counts(root) == SMALL_BASE
    assert find_layout(root).sentence == "Train/ and valid/"


def test_of_several_the_first_of_valid_val_validation_test_is_used(photo_folder):
    root = photo_folder()
    for name in ("val", "validation", "test"):
        shutil.copytree(root / "valid", root / name)
    used = []
    for name in ("valid", "val", "validation", "test"):
        used.append(find_layout(root).splits["valid"]["cat"][0].parts[-3])
        shutil.rmtree(root / name)
    assert used == ["valid", "val", "validation", "test"]
    assert list(find_layout(root).splits) == ["train"]


def test_images_for_a_test_beside_those_for_validation_are_spoken_of(photo_folder):
    root = photo_folder()
    shutil.copytree(root / "valid", root / "test")
    command = f"python -m app.evaluate MODEL {root} --split test"
    said = [f"{root}/test/ is kept out of the training: {command} measures on it"]
    assert scan(root).notices == said
    layout = find_layout(root)
    assert (layout.notices, layout.remarks) == ([], said)  # no fault of the data: nothing for an audit
    shutil.rmtree(root / "valid")
    assert scan(root).notices == find_layout(root, held_out=("valid",)).remarks == []


def test_a_second_folder_for_validation_is_spoken_of(photo_folder):
    root = photo_folder()
    shutil.copytree(root / "valid", root / "val")
    layout = find_layout(root)
    assert (layout.sentence, layout.remarks) == ("train/ and valid/", [])
    assert layout.notices == [f"{root}/val/ is ignored: valid/ is used to validate"]


def test_a_flat_folder_and_train_alone(photo_folder):
    root = photo_folder(valid=0)
    assert counts(root / "train") == counts(root) == {"train": {"cat": 12, "dog": 12}}
    assert find_layout(root / "train").sentence == "one folder per class"
    assert find_layout(root).sentence == "train/ alone"


def test_train_may_be_the_name_of_a_class(photo_folder):
    root = photo_folder(classes=("bus", "train"), valid=0) / "train"
    assert counts(root) == {"train": {"bus": 12, "train": 12}}


# What is no class


@pytest.mark.parametrize("name", [".ipynb_checkpoints", ".hidden"])
def test_hidden_folders_are_ignored_in_silence(name, photo_folder):
    root = photo_folder()
    shutil.copytree(root / "train" / "cat", root / "train" / name)
    shutil.copytree(root / "train" / "cat", root / "train" / "dog" / name)
    assert counts(root) == SMALL_BASE
    assert find_layout(root).notices == []


@pytest.mark.parametrize("name", ["__MACOSX", "runs", "__pycache__"])
def test_folders_that_programs_leave_are_ignored_and_said(name, photo_folder):
    root = photo_folder()
    shutil.copytree(root / "train" / "cat", root / "train" / name)
    shutil.copytree(root / "train" / "cat", root / name)
    assert counts(root) == SMALL_BASE
    assert find_layout(root).notices == [f"{root / 'train' / name}/ is not a class: ignored"]


def test_files_that_systems_leave_are_ignored_in_silence(photo_folder):
    root = photo_folder()
    for name in ("._00.jpg", ".DS_Store", "Thumbs.db", "desktop.ini"):
        (root / "train" / "cat" / name).write_bytes(b"junk")
        (root / "train" / name).write_bytes(b"junk")
    layout = find_layout(root)
    assert counts(root) == SMALL_BASE
    assert (layout.notices, layout.skipped) == ([], [])


def test_an_empty_class_folder_is_named(photo_folder):
    root = photo_folder()
    (root / "train" / "bird").mkdir()
    assert counts(root) == SMALL_BASE
    assert find_layout(root).notices == [f"{root / 'train' / 'bird'}/ holds no images: not a class"]


def test_a_class_of_files_without_suffix_is_named_and_its_files_listed(photo_folder):
    root = photo_folder()
    shutil.copytree(root / "train" / "cat", root / "train" / "bird")
    for path in sorted((root / "train" / "bird").iterdir()):
        path.rename(path.with_suffix(""))
    layout = find_layout(root)
    bird = root / "train" / "bird"
    assert layout.notices == [
        f"{bird}/ holds no images among its 12 files, the first 00: not a class",
        f"12 files without an image's suffix left out, the first {bird / '00'}",
    ]
    assert layout.skipped == [(bird / f"{i:02d}", "no suffix: not that of an image") for i in range(12)]


def test_other_files_and_loose_images_are_listed(photo_folder):
    root = photo_folder()
    train = root / "train"
    (train / "cat" / "labels.csv").touch()
    shutil.copy(train / "cat" / "00.jpg", train / "loose.jpg")
    layout = find_layout(root)
    assert counts(root) == SMALL_BASE
    assert layout.notices == [
        f"1 image directly in {train}, of no class: ignored",
        f"1 file without an image's suffix left out, the first {train / 'cat' / 'labels.csv'}",
    ]
    assert layout.skipped == [
        (train / "loose.jpg", "directly in the folder of classes"),
        (train / "cat" / "labels.csv", ".csv: not that of an image"),
    ]


# Links


def test_a_link_back_up_is_not_followed(photo_folder):
    root = photo_folder()
    cat = root / "train" / "cat"
    (cat / "self").symlink_to(cat)
    (cat / "up").symlink_to(root / "train")
    (cat / "top").symlink_to("/")
    assert counts(root) == SMALL_BASE
    assert len(image_files(root)) == 36


def test_linked_folders_and_files_count_as_their_own_once(photo_folder):
    root = photo_folder()
    more = photo_folder("more")
    cat = root / "train" / "cat"
    (cat / "more").symlink_to(more / "train" / "cat")
    (cat / "again").symlink_to(more / "train" / "cat")
    (cat / "one.jpg").symlink_to(more / "train" / "dog" / "00.jpg")
    assert counts(root)["train"] == {"cat": 25, "dog": 12}


def test_a_link_that_leads_nowhere_is_left_out_with_its_reason(photo_folder):
    root = photo_folder()
    train = root / "train"
    for name, target in (("bird", "/missing/bird"), ("loop", "loop"), ("a.jpg", "/missing/a.jpg")):
        (train / name).symlink_to(target)
    layout = find_layout(root)
    assert counts(root) == SMALL_BASE
    assert layout.skipped == [(train / name, "a link that leads nowhere") for name in ("a.jpg", "bird", "loop")]
    assert f"{train / 'bird'}: a link that leads nowhere (/missing/bird): left out" in layout.notices


@pytest.mark.parametrize("name", ["train", "valid", "val"])
def test_a_split_that_leads_nowhere_is_refused(name, photo_folder):
    root = photo_folder()
    shutil.rmtree(root / ("train" if name == "train" else "valid"))
    (root / name).symlink_to("/missing/disk")
    expected = f"{root / name}: a link that leads nowhere (/missing/disk): mend or remove it"
    assert message(root) == expected


def test_a_split_that_leads_nowhere_and_is_not_used_does_not_stop_a_training(photo_folder):
    root = photo_folder()
    (root / "test").symlink_to("/missing/test")
    assert counts(root) == SMALL_BASE


# Wrong layouts


def test_missing_and_file(tmp_path):
    assert message(tmp_path / "gone") == f"{tmp_path / 'gone'}: no such folder"
    (tmp_path / "a.jpg").touch()
    assert (
        message(tmp_path / "a.jpg")
        == f"{tmp_path / 'a.jpg'} is a file: give the folder that holds the images ({EXPECTED})"
    )


def test_an_empty_folder(tmp_path):
    assert message(tmp_path) == f"no images found in {tmp_path}: {EXPECTED}"


def test_folders_without_images(tmp_path):
    for name in ("src", "docs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "main.py").touch()
    assert message(tmp_path) == f"no images found in {tmp_path} (it has docs/, src/): {EXPECTED}"


def test_images_directly_in_the_folder(photo_folder):
    root = photo_folder() / "train" / "cat"
    assert message(root) == f"12 images directly in {root}: {EXPECTED}"


def test_images_directly_in_train(photo_folder):
    root = photo_folder()
    for path in (root / "train" / "cat").iterdir():
        path.rename(root / "train" / path.name)
    shutil.rmtree(root / "train" / "cat")
    shutil.rmtree(root / "train" / "dog")
    assert message(root) == f"12 images directly in {root / 'train'}: {EXPECTED}"


def test_valid_without_train(photo_folder):
    root = photo_folder(train=0)
    assert message(root) == f"{root} has valid/ but no train/: {EXPECTED}"


def test_nothing_in_valid(photo_folder):
    root = photo_folder(valid=0)
    (root / "valid").mkdir()
    assert message(root) == f"no images found in {root / 'valid'}: {EXPECTED}"


def test_a_folder_around_the_data_set(photo_folder):
    inner = photo_folder("download/photos")
    (inner.parent / "__MACOSX").mkdir()
    (inner.parent / "docs").mkdir()
    assert (
        message(inner.parent) == f"{inner.parent}: the classes lie one folder further down, give {inner} ({EXPECTED})"
    )
    flat = photo_folder("around")
    shutil.rmtree(flat / "valid")
    (flat / "train").rename(flat / "images")
    assert message(flat).endswith(f"the classes lie one folder further down, give {flat / 'images'} ({EXPECTED})")
