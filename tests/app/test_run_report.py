"""The page about a run: whole, without a network, and nothing of the user's is taken for HTML.

python -m pytest tests/app/test_run_report.py
"""

import json
import re
import shutil
import subprocess
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch

from app.evaluation.metrics import measure
from app.evaluation.scores import Scores
from app.evaluation.temperature import Temperature
from app.run_report import write_report
from data import Sample, Scan

PHONE = 390  # px
VOID = {"meta", "img", "br"}
HOSTILE = "<script>alert(1)</script>"
HEADER = (
    "epoch,phase,train_loss,valid_loss,accuracy,f1,train_seconds,valid_seconds,images_per_second,data_wait,warmup\n"
)


class Page(HTMLParser):
    """Fails where elements do not close in order; keeps their names, texts and what they refer to."""

    def __init__(self, text):
        super().__init__()
        self.open, self.names, self.texts, self.references = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.references += [value for name, value in attrs if name in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_a_run_has_one(trained, colours_once):
    _, folder = trained
    page = Page((folder / "report.html").read_text(encoding="utf-8"))
    pictures = len(list(folder.glob("*.png")))
    assert page.names.count("img") == pictures >= 5
    assert all(reference.startswith("data:image/png;base64,") for reference in page.references)
    accuracy = json.loads((folder / "evaluation.json").read_text())["accuracy"]
    assert page.texts.count(f"{accuracy:.4f}") >= 1
    (commands,) = (text for text in page.texts if "app.train" in text)
    assert commands.splitlines() == [
        f"python -m app.train --config {folder}/args.yaml",
        f"python -m app.evaluate {folder}/model.pkl {colours_once}",
        f"python -m app.predict {folder}/model.pkl IMAGE",
    ]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Chromium")
def test_it_fits_a_phone(trained, tmp_path):
    """Nothing makes the page wider than its 390 px; tables and pictures scroll within themselves."""
    _, folder = trained
    page = escape((folder / "report.html").read_text(encoding="utf-8"))
    script = "f.onload = () => document.title = f.contentDocument.documentElement.scrollWidth"
    frame = f'<!doctype html><iframe id="f" width="{PHONE}" srcdoc="{page}"></iframe><script>{script}</script>'
    (tmp_path / "frame.html").write_text(frame, encoding="utf-8")
    command = ["chromium", "--headless", "--no-sandbox", "--hide-scrollbars", f"--user-data-dir={tmp_path}/profile"]
    command += ["--dump-dom", "--virtual-time-budget=5000", (tmp_path / "frame.html").as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
    assert re.search(r"<title>(\d+)</title>", shown)[1] == str(PHONE)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "args.yaml").write_text(f"arch: resnet18\nsource: '{HOSTILE}'\n")
    about = {"device": "cpu", "device_reason": HOSTILE, "versions": {"torch": "2"}, "platform": "here"}
    (tmp_path / "environment.json").write_text(json.dumps(about))
    (tmp_path / "results.csv").write_text(HEADER + "0,probe,0.1,0.2,0.9,0.9,1,1,1,0,0\n")
    return tmp_path


def test_names_are_no_html(folder):
    classes = [HOSTILE, "b & c"]
    scores = Scores(torch.eye(2)[[0, 1, 1]], torch.tensor([0, 1, 0]), classes, [Sample(None, "")] * 3)
    scan = Scan(
        HOSTILE, "train/", classes, [Sample(None, "")], [], 32, skipped=[(Path("x"), HOSTILE)], notices=[HOSTILE]
    )
    write_report(folder, scan, measure(scores), Temperature(1.0, 3, reason=HOSTILE), {})
    page = Page((folder / "report.html").read_text(encoding="utf-8"))
    assert "script" not in page.names
    assert sum(HOSTILE in text for text in page.texts) >= 8
    assert "b & c" in page.texts
    assert f"{HOSTILE} taken for b & c" in page.texts
