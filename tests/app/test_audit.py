"""`app.audit`: its report as a table and as JSON, exit codes, the sheet, and that nothing else is written.

python -m pytest tests/app/test_audit.py
"""

import io
import json
import os
import shutil
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from PIL import Image

from app.audit import main
from app.contact_sheet import MAX_TILES, draw
from app.errors import run
from app.pictures.tiles import GAP, TILE
from app.progress import progress_bar
from data.audit import audit

USAGE = 2


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Run the command in an empty folder: exit code, standard output and error."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)

    def call(*argv):
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = run(main, [str(word) for word in argv])
        return code, out.getvalue(), err.getvalue()

    return call


@pytest.fixture
def messy(photo_folder):
    """The small base with an empty file, a leak, a PNG named .jpg and a file that ends early."""
    root = photo_folder()
    cat = root / "train" / "cat"
    (cat / "z.jpg").touch()
    shutil.copy(root / "valid" / "cat" / "01.jpg", cat / "leak.jpg")
    Image.radial_gradient("L").save(cat / "png.jpg", format="PNG")
    path = cat / "03.jpg"
    path.write_bytes(path.read_bytes()[:-300])
    return root


def listing(root):
    return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in (root, *root.rglob("*"))}


def test_a_clean_folder(call, photo_folder):
    root = photo_folder()
    expected = f"""{root} (train/ and valid/)

class  train  valid  left out
cat       12      6         0
dog       12      6         0

36 files: 36 kept, 0 left out
"""
    assert call(root, "--strict") == (0, expected, "")


def test_the_table(call, messy):
    cat = messy / "train" / "cat"
    code, out, err = call(messy)
    head, classes, summary, *findings = out.rstrip("\n").split("\n\n")
    assert (code, err, head) == (0, "", f"{messy} (train/ and valid/)")
    assert classes.splitlines()[1:] == ["cat       13      6         2", "dog       12      6         0"]
    assert summary == "39 files: 37 kept, 2 left out, 1 warning, 1 note"
    assert [finding.partition(":")[0] for finding in findings] == ["skipped", "skipped", "warning", "note"]
    assert findings[1] == (
        f"skipped: 1 file left out (empty), the first {cat / 'z.jpg'}: empty file\n  {cat / 'z.jpg'}: empty file"
    )


def test_the_tables_columns_stand_below_each_other(call, photo_folder):
    rows = call(photo_folder(classes=("猫", "dog")))[1].splitlines()[2:5]
    assert rows == ["class  train  valid  left out", "dog       12      6         0", "猫        12      6         0"]


def test_a_class_with_a_line_break_is_one_row(call, photo_folder):
    out = call(photo_folder(classes=("a\nb", "dog")))[1]
    assert "a\\nb      12      6         0\n" in out


def test_the_table_lists_the_first_files(call, photo_folder):
    root = photo_folder(train=24)
    for path in sorted((root / "train" / "cat").iterdir())[:12]:
        path.write_bytes(b"")
    out = call(root)[1]
    assert out.count(": empty file\n") == 1 + 10
    assert "\n  and 2 more (--format json has all)\n" in out


def test_json(call, messy):
    code, out, _ = call(messy, "--format", "json", "--drop-leaks", "--allow-truncated")
    report = json.loads(out)
    assert code == 0
    assert {key: report[key] for key in ("source", "layout", "files", "kept")} == {
        "source": str(messy),
        "layout": "train/ and valid/",
        "files": 39,
        "kept": 37,
    }
    assert report["classes"] == [
        {"class": "cat", "images": {"train": 13, "valid": 6}, "left_out": 2},
        {"class": "dog", "images": {"train": 12, "valid": 6}, "left_out": 0},
    ]
    assert [(finding["kind"], finding["severity"]) for finding in report["findings"]] == [
        ("empty", "skipped"),
        ("leak", "skipped"),
        ("truncated", "warning"),
        ("suffix", "note"),
    ]
    assert report["findings"][3]["files"] == [{"file": str(messy / "train/cat/png.jpg"), "remark": "is PNG"}]
    assert [Path(row["file"]).name for row in report["skipped"]] == ["z.jpg", "leak.jpg"]


def test_strict_fails_on_any_finding(call, photo_folder):
    root = photo_folder()
    assert call(root, "--strict")[0] == 0
    Image.radial_gradient("L").save(root / "train" / "cat" / "png.jpg", format="PNG")
    code, out, err = call(root, "--strict")
    assert (code, err) == (1, "")
    assert "37 files: 37 kept, 0 left out, 1 note\n" in out
    assert call(root)[0] == 0


@pytest.mark.parametrize("more", [(), ("--strict",), ("--format", "json")])
def test_what_cannot_be_trained_on_is_an_error_of_the_data(call, photo_folder, more):
    code, out, _ = call(photo_folder(classes=("cat",)), *more)
    assert code == 2
    assert "has 1 class: a classifier needs two or more" in out


def test_one_image_of_each_class_is_too_few(call, photo_folder):
    root = photo_folder(train=1) / "train"
    code, out, _ = call(root)
    assert code == 2
    assert (
        "error: every class has a single image, copies not counted: nothing is left to validate on, add images" in out
    )


def test_a_name_that_is_not_unicode(call, photo_folder):
    root = photo_folder()
    name = os.fsdecode(b"\xff.jpg")
    (root / "train" / "cat" / name).touch()
    assert "\\udcff.jpg: empty file" in call(root)[1]
    report = json.loads(call(root, "--format", "json")[1])
    assert report["skipped"][0]["file"] == str(root / "train" / "cat" / name)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "SOURCE is missing: give a folder of images, or --csv FILE"),
        (["cifar10"], "cifar10 is checked whenever it is loaded: give a folder of images"),
        (["none"], "none: no such folder"),
        (["--csv", "none.csv"], "--csv none.csv: no such file"),
        (
            ["x", "--csv-columns", "path"],
            "argument --csv-columns: 'path' is not two or three column names, such as path,label,split "
            "(see python -m app.audit --help)",
        ),
        (["x", "--grid", "sheet.jpg"], "--grid sheet.jpg: the name of a PNG file is expected"),
        (
            [".", "--grid", "sheet.png"],
            "--grid sheet.png lies inside the data set .: nothing is written there, choose another",
        ),
    ],
)
def test_usage(call, argv, message):
    assert call(*argv) == (USAGE, "", f"error: {message}\n")


def test_the_folder_of_the_sheet_must_exist(call, photo_folder):
    code, _, err = call(photo_folder(), "--grid", "none/sheet.png")
    assert (code, err) == (USAGE, f"error: --grid none/sheet.png: the folder {Path.cwd() / 'none'} does not exist\n")


def test_nothing_is_written_but_the_sheet(call, messy):
    before = listing(messy)
    code, _, err = call(messy, "--grid", "sheet.png", "--no-cache")
    assert (code, err) == (0, "4 files drawn in sheet.png\n")
    assert [path.name for path in Path.cwd().iterdir()] == ["sheet.png"]
    assert listing(messy) == before


def test_the_sheet_shows_each_file_once(messy, tmp_path):
    draw(audit(messy), tmp_path / "sheet.png")
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.width == 4 * (TILE + GAP) + GAP
        # What ends early is shown as far as it goes; the empty file has no picture; the gradient is round.
        tiles = [sheet.crop((GAP + i * (TILE + GAP), GAP, GAP + i * (TILE + GAP) + TILE, GAP + TILE)) for i in range(4)]
    assert len(tiles[0].convert("RGB").getcolors(TILE * TILE)) > 1000
    assert len(tiles[1].convert("RGB").getcolors(TILE * TILE)) == 2
    assert max(tiles[3].getpixel((TILE // 2, TILE // 2))[:3]) < 20


def test_an_empty_sheet(photo_folder, tmp_path):
    assert draw(audit(photo_folder()), tmp_path / "sheet.png") == f"0 files drawn in {tmp_path / 'sheet.png'}"
    assert (tmp_path / "sheet.png").exists()


def test_a_sheet_of_the_first_files(photo_folder, tmp_path):
    cat = photo_folder() / "train" / "cat"
    for index in range(MAX_TILES + 5):
        (cat / f"empty_{index}.jpg").touch()
    said = draw(audit(cat.parents[1]), tmp_path / "sheet.png")
    assert said == f"{MAX_TILES} files drawn in {tmp_path / 'sheet.png'}, the first of {MAX_TILES + 5}"
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.height > MAX_TILES / 6 * TILE


def test_no_bar_without_a_terminal():
    with progress_bar("files") as progress:
        assert progress is None


def test_a_bar_on_a_terminal(monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("app.progress.QUIET_SECONDS", 0)
    with progress_bar("files") as progress:
        progress(0, 40)
        time.sleep(0.2)  # it is drawn ten times a second at most
        progress(20, 40)
    assert "20/40" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r")
