"""What `app.train` does with an audit: `skipped.csv`, its lines, and labels from a CSV file.

python -m pytest tests/app/test_train_audit.py
"""

import csv
import shutil

import yaml

QUICK = ("--epochs", 1, "--workers", 0)


def skipped(folder):
    with (folder / "skipped.csv").open(newline="", encoding="utf-8") as stream:
        return list(csv.reader(stream))


def test_nothing_left_out(trained):
    result, folder = trained
    assert skipped(folder) == [["file", "reason"]]
    assert "audit:" not in result.err


def test_what_is_left_out_is_named(train, colours):
    red = colours / "train" / "red"
    (red / "empty.jpg").touch()
    (red / "notes.txt").write_text("not an image")
    shutil.copy(colours / "valid" / "red" / "0.jpg", red / "leak.jpg")
    result, folder = train(colours, *QUICK, "--drop-leaks")
    assert result.code == 0
    assert skipped(folder) == [
        ["file", "reason"],
        [str(red / "notes.txt"), ".txt: not that of an image"],
        [str(red / "empty.jpg"), "empty file"],
        [str(red / "leak.jpg"), f"same image as {colours / 'valid' / 'red' / '0.jpg'} in validation"],
    ]
    assert f"warning: 1 file left out (empty), the first {red / 'empty.jpg'}: empty file\n" in result.err
    summary = "audit: files left out: 3, warnings: 1, notes: 0 (python -m app.audit shows all, and draws them)"
    assert summary in result.err.splitlines()
    assert "24 training and 12 validation images" in result.err


def test_truncated_images_are_trained_on_when_asked(train, colours):
    for path in sorted((colours / "train" / "red").iterdir())[:5]:
        path.write_bytes(path.read_bytes()[:-200])
    result, folder = train(colours, *QUICK, "--allow-truncated")
    assert (result.code, skipped(folder)) == (0, [["file", "reason"]])
    assert "24 training and 12 validation images" in result.err


def test_labels_from_a_csv(train, colours, here):
    rows = [("image", "colour")]
    rows += [(path.relative_to(colours), path.parent.name) for path in sorted(colours.rglob("*.jpg"))]
    with (colours / "labels.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows(rows)
    result, folder = train("--csv", colours / "labels.csv", "--csv-columns", "image,colour", *QUICK)
    assert result.code == 0, result.err
    settings = yaml.safe_load((folder / "args.yaml").read_text())
    assert [settings[key] for key in ("source", "csv", "csv_columns")] == [
        None,
        str(colours / "labels.csv"),
        "image,colour",
    ]
    assert "classes: 2 (blue, red)\n" in result.err
    shutil.copy(folder / "args.yaml", here / "again.yaml")
    again, _ = train("--config", here / "again.yaml", "--limit", 10)
    assert again.code == 0, again.err


def test_neither_source_nor_csv(train):
    result, _ = train()
    assert (result.code, result.err) == (2, "error: SOURCE is missing: give a folder of images, or cifar10\n")


def test_a_csv_that_is_not_there(train):
    result, folder = train("--csv", "none.csv")
    assert (result.code, folder) == (2, None)
    assert result.err.splitlines()[-1] == "error: --csv none.csv: no such file"
