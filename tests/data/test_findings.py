"""The rules over facts: what each says, how severe it is, and where its bounds lie.

python -m pytest tests/data/test_findings.py
"""

import unicodedata
from pathlib import Path

import pytest

from data.balance import balance_findings
from data.duplicates import duplicate_findings, leaks
from data.findings import Finding, Item, file_findings
from data.inspect import Facts
from data.names import name_findings

GOOD = Facts(60, 40, "JPEG", "0" * 32)


def item(name, split="train", label="cat", **facts):
    facts = {"digest": name, **facts}
    return Item(Path(split, label, name), split, label, GOOD._replace(**facts))


def bad(name, reason, **facts):
    return Item(Path("train/cat", name), "train", "cat", Facts(reason=reason, **facts))


def judged(*items, allow_truncated=False):
    return file_findings(items, allow_truncated=allow_truncated)


def test_nothing_to_say_of_a_good_file():
    assert judged(item("a.jpg")) == []


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("empty file", "empty"),
        ("not an image of a supported format", "not-an-image"),
        ("no such file", "missing"),
        ("link to a missing file", "missing"),
        ("damaged (broken data stream)", "damaged"),
        ("too many pixels to decode safely", "too-large"),
        ("pixel values from -3 to 7, expected 0 to 1 or 0 to 255", "unknown-range"),
        ("HEIC is not supported: install pillow-heif", "unsupported"),
        ("no permission to read it", "unreadable"),
    ],
)
def test_files_that_are_left_out(reason, kind):
    (finding,) = judged(bad("a.jpg", reason), item("b.jpg"))
    message = f"1 file left out ({kind}), the first train/cat/a.jpg: {reason}"
    assert finding == Finding(kind, "skipped", message, ((Path("train/cat/a.jpg"), reason),))


def test_one_finding_for_each_kind():
    files = [bad("a.jpg", "empty file"), bad("b.jpg", "damaged (x)"), bad("c.jpg", "empty file")]
    empty, damaged = judged(*files)
    assert empty.message == "2 files left out (empty), the first train/cat/a.jpg: empty file"
    assert [path.name for path, _ in empty.files] == ["a.jpg", "c.jpg"]
    assert damaged.kind == "damaged"


def test_truncated_files_are_left_out_or_kept():
    cut = item("a.jpg", reason="damaged (image file is truncated)", truncated=True)
    (finding,) = judged(cut)
    assert (finding.kind, finding.severity) == ("truncated", "skipped")
    assert finding.message == (
        "1 file left out (truncated), the first train/cat/a.jpg: damaged (image file is truncated); "
        "--allow-truncated keeps such files"
    )
    (finding,) = judged(cut, allow_truncated=True)
    assert (finding.kind, finding.severity) == ("truncated", "warning")
    assert finding.message == (
        "1 file truncated but kept, the first train/cat/a.jpg: damaged (image file is truncated)"
    )


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"uniform": True}, "1 file of a single colour, the first train/cat/a.jpg: one colour all over"),
        ({"width": 7}, "1 file below 8 pixels, the first train/cat/a.jpg: 7x40 pixels"),
        ({"width": 8}, None),
        ({"height": 601}, "1 file over 10 times longer than wide, the first train/cat/a.jpg: 60x601 pixels"),
        ({"height": 600}, None),
        (
            {"format": "PNG"},
            "1 file with the suffix of another format, read all the same, the first train/cat/a.jpg: is PNG",
        ),
        ({"format": "MPO"}, None),
    ],
)
def test_doubtful_files(facts, message):
    assert [finding.message for finding in judged(item("a.jpg", **facts))] == ([message] if message else [])


def test_a_doubtful_file_is_kept():
    severities = {
        finding.kind: finding.severity
        for finding in judged(item("a.jpg", uniform=True, format="PNG"), item("b.jpg", width=1))
    }
    assert severities == {"uniform": "warning", "suffix": "note", "small": "warning", "aspect": "warning"}


def test_a_leak():
    files = [item("a.jpg"), item("b.jpg"), item("c.jpg", "valid", digest="a.jpg"), item("d.jpg", "valid")]
    assert leaks(files) == {Path("train/cat/a.jpg"): Path("valid/cat/c.jpg")}
    (finding,) = duplicate_findings(files)
    assert (finding.kind, finding.severity) == ("leak", "warning")
    assert finding.message == (
        "1 file of train also in validation (leak: the accuracy comes out too good), the first train/cat/a.jpg: "
        "same image as valid/cat/c.jpg; --drop-leaks takes them out of train"
    )
    assert finding.files == ((Path("train/cat/a.jpg"), "same image as valid/cat/c.jpg in validation"),)
    (finding,) = duplicate_findings(files, drop_leaks=True)
    assert finding.severity == "skipped"
    assert finding.message == (
        "1 file of train left out (leak), the first train/cat/a.jpg: same image as valid/cat/c.jpg in validation"
    )


def test_copies_within_a_split():
    files = [item("a.jpg"), item("b.jpg", digest="a.jpg"), item("c.jpg", digest="a.jpg"), item("d.jpg")]
    (finding,) = duplicate_findings(files)
    assert (finding.kind, finding.severity) == ("duplicate", "warning")
    assert finding.message == (
        "2 files copied within a split, the first train/cat/b.jpg: same image as train/cat/a.jpg"
    )


def test_one_image_under_two_labels():
    files = [item("a.jpg"), item("b.jpg", label="dog", digest="a.jpg"), item("c.jpg")]
    (finding,) = duplicate_findings(files)
    assert (finding.kind, finding.severity) == ("two-labels", "warning")
    assert finding.message == "1 image under two labels, the first train/cat/a.jpg: same image under cat and dog"
    assert [str(path) for path, _ in finding.files] == ["train/cat/a.jpg", "train/dog/b.jpg"]


def test_a_dropped_leak_is_no_copy():
    files = [item("a.jpg"), item("b.jpg", digest="a.jpg"), item("c.jpg", "valid", label="dog", digest="a.jpg")]
    assert [finding.kind for finding in duplicate_findings(files)] == ["leak", "two-labels", "duplicate"]
    assert [finding.kind for finding in duplicate_findings(files, drop_leaks=True)] == ["leak"]


def test_files_that_were_not_read_are_no_copies():
    assert duplicate_findings([bad("a.jpg", "empty file"), bad("b.jpg", "empty file")]) == []


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({"cat": 50, "dog": 11}, None),
        (
            {"cat": 50, "dog": 10},
            "classes out of balance, 5 to 1: cat has 50 training images, but dog 10; "
            "--balance weights or sampler makes up for it",
        ),
        (
            {"cat": 30, "a": 1, "b": 2, "c": 3, "d": 4, "e": 20},
            "classes out of balance, 30 to 1: cat has 30 training images, but a 1, b 2, c 3, ...; "
            "--balance weights or sampler makes up for it",
        ),
    ],
)
def test_balance(counts, message):
    files = [item(f"{i}.jpg", label=label) for label, count in counts.items() for i in range(count)]
    files += [item(f"{i}.jpg", "valid", label="cat") for i in range(500)]
    assert [finding.message for finding in balance_findings(files)] == ([message] if message else [])


def named(*paths):
    splits = {}
    for path in map(Path, paths):
        splits.setdefault(path.parts[0], {}).setdefault(path.parts[1], []).append(path)
    return [(finding.kind, finding.message) for finding in name_findings(splits)]


def test_names_that_differ_by_case():
    assert named("train/Cat/1.jpg", "train/dog/1.jpg", "valid/cat/1.jpg") == [
        ("class-names", "classes 'Cat' and 'cat' differ by case only: one class perhaps")
    ]
    assert named("train/cat/A.jpg", "train/cat/a.JPG", "train/dog/a.jpg", "valid/cat/a.jpg") == [
        (
            "file-names",
            "1 file whose name some systems take for another's, the first train/cat/a.JPG: "
            "differs from A.jpg by case only",
        )
    ]


def test_names_that_differ_by_unicode_form():
    composed, decomposed = (unicodedata.normalize(form, "café") for form in ("NFC", "NFD"))
    assert named(f"train/{composed}/1.jpg", f"train/{decomposed}/1.jpg") == [
        (
            "class-names",
            f"classes {composed!r} and {decomposed!r} differ by Unicode form only: one class perhaps",
        )
    ]
    ((kind, message),) = named(f"train/cat/{composed}.jpg", f"train/cat/{decomposed}.jpg")
    assert kind == "file-names"
    assert message.endswith("by Unicode form only")
