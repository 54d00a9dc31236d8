"""The audit of whole folders and CSV files: what is kept, left out and found; and what a scan makes of it.

python -m pytest tests/data/test_audit.py
"""

import os
import shutil
import stat

import pytest
from PIL import Image

import data.inspect
from data import DataError, scan
from data.audit import audit
from data.reader import read_image
from data.transforms import OpenImage


def kinds(found):
    return [(finding.severity, finding.kind) for finding in found.findings]


def cut(path):
    path.write_bytes(path.read_bytes()[:-300])


def test_a_clean_folder(photo_folder):
    root = photo_folder()
    found = audit(root)
    assert (found.source, found.findings, found.skipped) == (str(root), [], [])
    assert len(found.kept) == len(found.items) == 36


def test_unreadable_files_are_left_out_with_their_reasons(photo_folder):
    root = photo_folder()
    cat = root / "train" / "cat"
    (cat / "z.jpg").touch()
    (cat / "z.png").write_text("<html>not found</html>")
    (cat / "dead.jpg").symlink_to("nowhere.jpg")
    cut(cat / "03.jpg")
    found = scan(root)
    reasons = {path.name: reason for path, reason in found.skipped}
    assert reasons.pop("03.jpg").startswith("damaged (image file is truncated (")
    assert reasons == {
        "z.jpg": "empty file",
        "z.png": "not an image of a supported format",
        "dead.jpg": "link to a missing file",
    }
    assert len(found.train) == 23
    assert len(found.notices) == len(found.findings) == 4
    assert f"1 file left out (empty), the first {cat / 'z.jpg'}: empty file" in found.notices


def test_truncated_files_are_kept_when_asked(photo_folder):
    root = photo_folder()
    path = root / "train" / "cat" / "03.jpg"
    cut(path)
    strict, kept = scan(root), scan(root, allow_truncated=True)
    assert (len(strict.train), strict.truncated) == (23, False)
    assert (len(kept.train), kept.truncated, kept.skipped) == (24, True, [])
    assert kept.notices[0].startswith(f"1 file truncated but kept, the first {path}: damaged (image file is truncated")
    with pytest.raises(data.ImageError):
        OpenImage()(path)
    assert OpenImage(truncated=True)(path).size == (48, 48)


def test_leaks_are_said_and_dropped(photo_folder):
    root = photo_folder()
    twin = root / "train" / "dog" / "twin.png"
    with Image.open(root / "valid" / "dog" / "02.jpg") as image:
        image.convert("RGB").save(twin)
    found = scan(root)
    assert found.notices == [
        f"1 file of train also in validation (leak: the accuracy comes out too good), the first {twin}: "
        f"same image as {root / 'valid' / 'dog' / '02.jpg'}; --drop-leaks takes them out of train"
    ]
    dropped = scan(root, drop_leaks=True)
    assert (len(found.train), len(dropped.train), len(dropped.valid)) == (25, 24, 12)
    assert dropped.skipped == [(twin, f"same image as {root / 'valid' / 'dog' / '02.jpg'} in validation")]


def test_nothing_left_after_leaks(photo_folder):
    root = photo_folder()
    shutil.rmtree(root / "train")
    shutil.copytree(root / "valid", root / "train")
    with pytest.raises(DataError, match=r"photos: each of its training images is in validation too$"):
        scan(root, drop_leaks=True)


def test_a_drawn_split_makes_no_leak(photo_folder):
    root = photo_folder(valid=0) / "train"
    for index in range(12):
        for copy in "ab":
            shutil.copy(root / "cat" / f"{index:02d}.jpg", root / "cat" / f"{index:02d}{copy}.jpg")
    for seed in range(5):
        found = scan(root, seed=seed)
        sides = [
            {sample.source.name[:2] for sample in part if sample.label == "cat"} for part in (found.train, found.valid)
        ]
        assert not sides[0] & sides[1]
        assert [len(found.train), len(found.valid)] == [40, 8]


def test_more_than_half_of_a_class_unreadable(photo_folder):
    root = photo_folder()
    files = sorted((root / "train" / "cat").iterdir()) + sorted((root / "valid" / "cat").iterdir())
    for path in files[:9]:
        path.write_bytes(b"")
    assert len(scan(root).train) == 15
    files[9].write_bytes(b"")
    with pytest.raises(DataError) as caught:
        scan(root)
    message = f"class 'cat': 10 of 18 files cannot be read, more than half of it, the first {files[0]}: empty file"
    assert str(caught.value) == message
    assert kinds(audit(root)) == [
        ("error", "unreadable-class"),
        ("skipped", "empty"),
        ("warning", "imbalance"),
    ]


def test_errors_of_the_classes_are_findings_of_an_audit(photo_folder):
    root = photo_folder()
    shutil.copytree(root / "valid" / "cat", root / "valid" / "zebra")
    with pytest.raises(DataError) as caught:
        scan(root)
    found = audit(root)
    assert found.findings[0].message == str(caught.value)
    assert (found.findings[0].severity, found.findings[0].kind) == ("error", "classes")


def test_classes_that_differ_by_case(photo_folder):
    root = photo_folder(classes=("Cat", "cat"))
    assert scan(root).notices == ["classes 'Cat' and 'cat' differ by case only: one class perhaps"]


def test_a_class_that_only_validation_has_because_of_its_case(photo_folder):
    root = photo_folder()
    (root / "valid" / "cat").rename(root / "valid" / "Cat")
    with pytest.raises(DataError) as caught:
        scan(root)
    assert str(caught.value) == (
        f"{root}: 1 class only in validation: Cat; add to train/ or remove; "
        "classes 'cat' and 'Cat' differ by case only: one class perhaps"
    )


def test_images_in_folders_below_their_class_count(photo_folder):
    root = photo_folder()
    below = root / "train" / "cat" / "phone" / "2024"
    below.mkdir(parents=True)
    path = (root / "train" / "cat" / "00.jpg").rename(below / "00.jpg")
    found = scan(root)
    assert (len(found.train), found.notices) == (24, [])
    (finding,) = found.findings
    assert (finding.kind, finding.severity, finding.files) == ("nested", "note", ((path, "in 2024/"),))
    assert finding.message == f"1 file in folders below their class's, counted, the first {path}"


def test_imbalance(photo_folder):
    root = photo_folder()
    for path in sorted((root / "train" / "dog").iterdir())[2:]:
        path.unlink()
    assert scan(root).notices == [
        "classes out of balance, 6 to 1: cat has 12 training images, but dog 2; "
        "--balance weights or sampler makes up for it"
    ]


def test_every_file_is_decoded_once_and_then_remembered(photo_folder, monkeypatch):
    reads = []
    monkeypatch.setattr(data.inspect, "read_image", lambda path, **options: reads.append(path) or read_image(path))
    root = photo_folder()
    first = scan(root)
    assert len(reads) == len(set(reads)) == 36
    assert scan(root) == first
    assert len(reads) == 36
    assert audit(root, remember=False).kept == audit(root).kept
    assert len(reads) == 72


def test_labels_from_a_csv(photo_folder, tmp_path):
    root = photo_folder()
    lines = ["file,kind,part"]
    lines += [f"train/{label}/{i:02d}.jpg,{label},train" for label in ("cat", "dog") for i in range(12)]
    lines += [f"valid/{label}/{i:02d}.jpg,{label},test" for label in ("cat", "dog") for i in range(6)]
    lines += ["train/cat/gone.jpg,cat,train"]
    file = tmp_path / "labels.csv"
    file.write_text("\n".join(lines))
    found = scan(root, csv=file, csv_columns=["file", "kind", "part"])
    assert (found.source, found.layout, found.classes) == (str(file), "labels of labels.csv", ["cat", "dog"])
    assert (len(found.train), len(found.valid)) == (24, 12)
    assert found.skipped == [(root / "train/cat/gone.jpg", "no such file")]
    # Without a source, paths start from where the file lies.
    shutil.copy(file, root / "labels.csv")
    assert scan(None, csv=root / "labels.csv", csv_columns=["file", "kind", "part"]).train == found.train


def test_a_csv_without_splits_has_one_drawn(photo_folder, tmp_path):
    root = photo_folder()
    file = tmp_path / "labels.csv"
    rows = [f"train/{label}/{i:02d}.jpg,{label}" for label in ("cat", "dog") for i in range(12)]
    file.write_text("\n".join(["path,label", *rows]))
    found = scan(root, csv=file, seed=1)
    assert (len(found.train), len(found.valid)) == (20, 4)
    assert found.layout == "labels of labels.csv; no validation split, so 20% of each class drawn with seed 1"


def test_a_read_only_folder(photo_folder):
    root = photo_folder()
    before = {path: path.stat().st_mtime_ns for path in (root, *root.rglob("*"))}
    for path in before:
        path.chmod(stat.S_IRUSR | stat.S_IXUSR if path.is_dir() else stat.S_IRUSR)
    try:
        assert len(scan(root).train) == 24
    finally:
        for path in before:
            os.chmod(path, stat.S_IRWXU)
    assert {path: path.stat().st_mtime_ns for path in (root, *root.rglob("*"))} == before
