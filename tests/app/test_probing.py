"""`app.train` with pretrained weights: a linear probe, then epochs, and the better of the two.

python -m pytest tests/app/test_probing.py
"""

import csv

import pytest
import torch
import yaml
from fastai.learner import load_learner
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch import nn

from data import read_image
from models import load

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
