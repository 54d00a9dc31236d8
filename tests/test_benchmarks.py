"""The scripts in benchmarks/ can be loaded, and the one that checks, rather than times, sees what is wrong.

python -m pytest tests/test_benchmarks.py
"""

import csv
import importlib.util
from pathlib import Path

import pytest
from PIL import Image

SCRIPTS = sorted((Path(__file__).resolve().parent.parent / "benchmarks").glob("*.py"))


@pytest.fixture(autouse=True)
def their_folder(monkeypatch):
    monkeypatch.syspath_prepend(SCRIPTS[0].parent)  # as it is for a script that is run


def load(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_what_a_script_imports_is_there(path):
    assert callable(load(path).main)


@pytest.mark.parametrize(("red", "missing", "code"), [(200, False, 0), (190, False, 1), (200, True, 1)])
def test_strange_files_are_read_one_way_only(red, missing, code, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "strange"
    folder.mkdir()
    turned = Image.Exif()
    turned[0x0112] = 6
    Image.new("RGB", (32, 24), (200, 100, 50)).save(folder / "turned.png", exif=turned)
    (folder / "page.jpg").write_text("<html></html>")
    rows = [
        {"file": "turned.png", "width": 24, "height": 32, "red": red, "green": 100, "blue": 50, "tolerance": 1},
        {"file": "page.jpg", "reason": "image"},
        *([{"file": "absent.jpg", "reason": "image"}] if missing else []),
    ]
    script = load(next(path for path in SCRIPTS if path.stem == "check_messy"))
    monkeypatch.setattr(script, "EXPECTATIONS", tmp_path / "expectations.tsv")
    with script.EXPECTATIONS.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, [*rows[0], "reason", "remark"], delimiter="\t", restval="")
        writer.writeheader()
        writer.writerows(rows)
    assert script.main([str(folder)]) == code
    out = capsys.readouterr().out
    assert f"{2 if code == 0 or missing else 1} of {len(rows)} files are right" in out
    for way in ("reader", "predict", "train"):
        assert (f"turned.png: {way}: colour 200.0 100.0 50.0" in out) == (red == 190)
