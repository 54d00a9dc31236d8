"""What ``--dry-run`` shows, and that it trains nothing.

python -m pytest tests/app/test_dry_run.py
"""

import re

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from app import train
from app.dry_run import _forward
from app.errors import run


def test_it_shows_shapes_memory_and_a_batch_and_trains_nothing(photo_folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(train.main, [str(photo_folder()), "--dry-run", "--batch-size", "8"]) == 0
    out = capsys.readouterr().out
    (folder,) = (tmp_path / "runs").iterdir()
    assert sorted(path.name for path in folder.iterdir()) == [
        "args.yaml",
        "environment.json",
        "skipped.csv",
        "train_batch.png",
    ]
    assert "images: (8, 3, 32, 32) torch.float32, labels: (8,) torch.int64" in out
    assert "logits: (8, 2) torch.float32" in out
    assert "parameters: 269,202, of which 269,202 are trained at first" in out
    assert 1 < float(re.search(r"memory: about ([\d,]+) MiB", out)[1]) < 200
    assert Image.open(folder / "train_batch.png").size > (200, 200)
    assert not (tmp_path / "model.pkl").exists()
    # The settings it wrote are those of a training.
    assert run(train.main, ["--config", str(folder / "args.yaml"), "--epochs", "1"]) == 0
    assert (tmp_path / "model.pkl").exists()


@pytest.mark.parametrize(
    ("flags", "trained", "activations"),
    [
        (["--epochs", "0"], "5,122", range(1)),
        (["--epochs", "1"], "3,376,130", range(40, 60)),
        (["--epochs", "1", "--freeze-epochs", "1"], "5,122", range(40, 60)),
    ],
)
def test_parameters_are_of_the_first_phase_and_memory_of_the_largest(
    flags, trained, activations, photo_folder, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    photos = "--arch", "tf_efficientnet_lite0", "--img-size", "64", "--batch-size", "8"
    assert run(train.main, [str(photo_folder()), "--dry-run", *photos, *flags]) == 0
    out = capsys.readouterr().out
    assert f"parameters: 3,376,130, of which {trained} are trained at first" in out
    assert int(re.search(r"(\d+) of it activations", out)[1]) in activations


@pytest.mark.parametrize("way", ["device", "fastai"])
def test_the_batch_is_drawn_as_it_is_augmented(way, photo_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    photos = str(photo_folder())

    def drawn(strength):
        flags = ("--dry-run", "--name", f"{way}{strength}", "--aug", way, "--aug-mult", strength)
        assert run(train.main, [photos, *map(str, flags)]) == 0
        (picture,) = (tmp_path / "runs").glob(f"*-{way}{strength}/train_batch.png")
        return np.asarray(Image.open(picture))

    assert (drawn(0) != drawn(1)).any()


def test_activations_are_what_the_backward_pass_needs(monkeypatch):
    class Learn:
        model = nn.Sequential(nn.Flatten(), nn.Linear(12, 5), nn.ReLU(), nn.Linear(5, 3))

    logits, saved = _forward(Learn, torch.randn(2, 3, 2, 2))
    # The first layer keeps its input (2 x 12), the rectifier its output (2 x 5), which is the second layer's input.
    assert (tuple(logits.shape), saved) == ((2, 3), 4 * (2 * 12 + 2 * 5))


@pytest.mark.parametrize("balance", ["weights", "sampler"])
def test_balancing_trains(balance, photo_folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    folder = photo_folder()
    for path in sorted((folder / "train" / "cat").iterdir())[2:]:
        path.unlink()
    assert run(train.main, [str(folder), "--balance", balance, "--epochs", "1", "--batch-size", "4"]) == 0
    assert "classes out of balance, 6 to 1" in capsys.readouterr().err
