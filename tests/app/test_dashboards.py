"""A run as TensorBoard shows it, asked over its own HTTP interface.

python -m pytest tests/app/test_dashboards.py
"""

import json
import re
import subprocess
import sys
from fnmatch import fnmatch
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"
PICTURES = {"run/confusion_matrix", "run/reliability", "run/results", "run/train_batch", "run/val_pred"}


def named_tags():
    """Every tag, or pattern of tags, in the README's section on TensorBoard."""
    section = README.read_text(encoding="utf-8").partition("## Seeing and comparing runs")[2].partition("\n## ")[0]
    words = re.findall(r"`((?:train|valid|time|throughput|memory|lr|momentum|final)/[\w*]+)`", section)
    assert len(words) > 10
    return words


@pytest.fixture(scope="module")
def ask(fine_tuned):
    """`ask(path, **query)`: what TensorBoard answers for that run alone."""
    _, folder = fine_tuned
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", folder, "--port", "0", "--load_fast=false"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            address = next(found[0] for line in process.stderr if (found := re.search(r"http://localhost:\d+/", line)))

            def ask(path, **query):
                with urlopen(f"{address}data/{path}?{urlencode(query)}", timeout=60) as answer:
                    return json.load(answer)

            yield ask
        finally:
            process.terminate()
            process.communicate()  # what it says of the signal has to go somewhere, or it never ends


@pytest.mark.slow
def test_every_tag_of_the_readme_is_there_and_its_steps_grow(ask, fine_tuned):
    tags = ask("plugin/scalars/tags")["."]
    missing = [name for name in named_tags() if not any(fnmatch(tag, name) for tag in tags)]
    # The norm is that of every tenth step: this run has nine. And none of them was compiled.
    assert missing == ["train/gradient_norm", "time/compile"]
    for tag in tags:
        steps = [step for _, step, _ in ask("plugin/scalars/scalars", run=".", tag=tag)]
        assert steps
        assert all(one < following for one, following in pairwise(steps)), tag


@pytest.mark.slow
def test_four_dashboards(ask):
    layout = ask("plugin/custom_scalars/layout")
    assert [category["title"] for category in layout["category"]] == ["Quality", "Speed", "Optimisation", "Hardware"]


@pytest.mark.slow
def test_pictures_curves_and_settings(ask):
    assert set(ask("plugin/images/tags")["."]) >= PICTURES
    assert set(ask("plugin/pr_curves/tags")["."]) == {"precision_recall/blue", "precision_recall/red"}
    texts = {f"run/{name}/text_summary" for name in ("settings", "device", "data")}
    assert texts <= set(ask("plugin/text/tags")["."])


@pytest.mark.slow
def test_graph_and_projector(ask):
    assert ask("plugin/graphs/info")["."]["run_graph"]
    assert ask("plugin/projector/runs") == ["."]
    (embedding,) = ask("plugin/projector/info", run=".")["embeddings"]
    assert embedding["tensorShape"][0] == 12  # validation images
    assert embedding["sprite"]["singleImageDim"] == [48, 48]
