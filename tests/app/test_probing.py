"""`app.train` with pretrained weights: a linear probe, then epochs, and the better of the two.

python -m pytest tests/app/test_probing.py
"""

import csv
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import yaml
from fastai.learner import load_learner
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch import nn

from app.pictures.training_batch import denormalized
from app.probing import some_of_train
from callbacks.first_batch import MOST
from data import loaders, read_image, scan
from models import load, spec

LITE = ("--arch", "tf_efficientnet_lite0", "--img-size", 32, "--batch-size", 8)


def rows(folder):
    with (folder / "results.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def accuracy(model, photos):
    files = sorted(photos.glob("valid/*/*.jpg"))
    predictor = load(model)
    found = predictor.probabilities([read_image(file) for file in files])
    wanted = torch.tensor([predictor.classes.index(file.parent.name) for file in files])
    return (found.argmax(1) == wanted).float().mean().item()


@pytest.fixture(scope="module")
def probed(colours_once, call, tmp_path_factory):
    """The probe alone: the result of the command and its run folder."""
    from app.train import main

    where = tmp_path_factory.mktemp("probed")
    result = call(main, colours_once, "--output", where / "runs", "--export", where / "model.pkl", *LITE, "--epochs", 0)
    assert result.code == 0, result.err
    (folder,) = (where / "runs").iterdir()
    return result, folder


def test_the_probe_is_a_row_like_an_epochs(probed):
    result, folder = probed
    (row,) = rows(folder)
    assert (row["epoch"], row["phase"], row["warmup"]) == ("0", "probe", "0")
    assert float(row["images_per_second"]) == pytest.approx(24 / float(row["train_seconds"]), rel=1e-3)
    assert float(row["valid_seconds"]) > 0
    assert result.out.splitlines()[1].split()[:2] == ["0", "probe"]
    events = EventAccumulator(str(folder)).Reload()
    (scalar,) = events.Scalars("valid/accuracy")
    assert (scalar.step, scalar.value) == (0, pytest.approx(float(row["accuracy"]), rel=1e-4))
    assert f"best accuracy {float(row['accuracy']):.4f} (probe), " in result.out


def test_the_export_is_the_probe(probed, colours_once):
    _, folder = probed
    (row,) = rows(folder)
    assert float(row["accuracy"]) > 0.9
    assert accuracy(folder / "model.pkl", colours_once) == pytest.approx(float(row["accuracy"]), abs=1e-4)


def test_the_export_is_an_ordinary_learner_with_one_linear_layer(probed):
    _, folder = probed
    learn = load_learner(folder / "model.pkl")
    assert [type(layer) for layer in learn.model[1]][-1] is nn.Linear
    assert len([layer for layer in learn.model[1].modules() if isinstance(layer, nn.Linear)]) == 1


def test_the_picture_is_of_training_images_as_the_probe_saw_them(probed, colours_once):
    """Of both classes: noise around two colours."""
    _, folder = probed
    events = EventAccumulator(str(folder), {"images": 0}).Reload()
    assert "run/train_batch" in events.Tags()["images"]
    assert "Training images, as the network got them" in (folder / "report.html").read_text(encoding="utf-8")
    with Image.open(folder / "train_batch.png") as picture:
        pixels = np.asarray(picture.convert("RGB"), float)
    redder, bluer = ((pixels[..., one] > pixels[..., other] + 50).mean() for one, other in ((0, 2), (2, 0)))
    assert min(redder, bluer) > 0.1


def test_what_the_probe_saw_is_drawn_by_the_seed(colours_once):
    found = scan(str(colours_once), valid_pct=0.2, seed=42)
    learn = SimpleNamespace(dls=loaders(found, spec("resnet20_cifar", found), batch_size=8, workers=0))
    first, again, other = (some_of_train(learn, seed) for seed in (1, 1, 2))
    assert first[0].shape == (MOST, 3, 32, 32)
    assert first[0].equal(again[0])
    assert not first[0].equal(other[0])
    pixels = denormalized(first[0], learn.dls).mean((2, 3))
    redder = pixels[:, 0] > pixels[:, 2]
    assert redder.equal(first[1] == list(learn.dls.vocab).index("red"))
    assert 0 < redder.sum() < MOST


def test_nothing_is_measured_for_epochs_that_are_not_there(probed):
    result, folder = probed
    assert "precision:" not in result.err
    settings = yaml.safe_load((folder / "args.yaml").read_text())
    assert (settings["probe"], settings["epochs"], settings["freeze_epochs"]) == (True, 0, 0)
    assert "training: probe + 0 epochs, batch size 8, " in result.err


def test_epochs_begin_where_the_probe_ends(colours, train):
    result, folder = train(colours, *LITE, "--freeze-epochs", 1, "--epochs", 1, "--lr", 1e-10, "--aug-mult", 0)
    assert result.code == 0, result.err
    probe, *epochs = rows(folder)
    assert [(row["epoch"], row["phase"]) for row in (probe, *epochs)] == [
        ("0", "probe"),
        ("1", "frozen"),
        ("2", "unfrozen"),
    ]
    for row in epochs:  # bf16 features and float32 validation differ in the third digit
        assert float(row["valid_loss"]) == pytest.approx(float(probe["valid_loss"]), rel=0.05, abs=0.01)
        assert row["accuracy"] == probe["accuracy"]


def test_when_epochs_end_below_the_probe_it_is_exported_and_said(colours, train):
    result, folder = train(colours, *LITE, "--epochs", 1, "--lr", 5)
    assert result.code == 0, result.err
    probe, epoch = rows(folder)
    assert float(epoch["accuracy"]) < float(probe["accuracy"])
    said = f"the probe is kept: its accuracy was {float(probe['accuracy']):.4f}, after fine-tuning "
    assert said in result.err
    assert "(probe), " in result.out
    assert accuracy(folder / "model.pkl", colours) == pytest.approx(float(probe["accuracy"]), abs=1e-4)


def test_without_a_probe_there_is_none(colours, train):
    result, folder = train(colours, *LITE, "--no-probe", "--freeze-epochs", 1, "--epochs", 1)
    assert result.code == 0, result.err
    assert [row["phase"] for row in rows(folder)] == ["frozen", "unfrozen"]
    assert "training: 1 frozen + 1 epoch, batch size 8, " in result.err


def test_no_epochs_need_a_probe(train, here, colours):
    line = "error: --epochs 0: without the probe of a pretrained network nothing would be learned"
    for flags in (("--epochs", 0), (*LITE, "--no-probe", "--epochs", 0, "--freeze-epochs", 0)):
        result, folder = train(colours, *flags)
        assert (result.code, result.out, folder) == (2, "", None)
        assert result.err.splitlines()[-1] == line


def test_balanced_classes_weigh_in_the_probe(colours, train):
    for path in sorted((colours / "train" / "red").iterdir())[3:]:
        path.unlink()
    losses = [
        rows(train(colours, *LITE, "--epochs", 0, "--balance", balance)[1])[0]["train_loss"]
        for balance in ("none", "weights", "sampler")
    ]
    assert losses[0] != losses[1] == losses[2]
