"""``--recipe speed`` on a few images: what it settles, how its rates fall, what it refuses, and that it can be resumed.

python -m pytest tests/app/test_speed_recipe.py
"""

import shutil
import signal

import pytest
import torch
import yaml
from fastai.learner import load_learner
from safetensors.torch import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from models.airbench_training import rates
from tests.app.forked_runs import ForkedRuns

FEW = ("--recipe", "speed", "--batch-size", 8)


def test_what_it_settles_and_exports(colours, train):
    (code, _, err), folder = train(colours, *FEW, "--epochs", 4, "--log-every", 1)
    assert code == 0, err
    assert "image sizes: 2 epochs at 24 px, 2 epochs at 32 px\n" in err
    settings = yaml.safe_load((folder / "args.yaml").read_text())
    expected = {"recipe": "speed", "arch": "airbench94_cifar", "opt": "muon", "aug": "airbench94", "img_size": 32}
    expected |= {"label_smoothing": 0.2, "lr": 0.24, "wd": 0.004, "batch_size": 8}
    assert {key: settings[key] for key in expected} == expected
    learn = load_learner(folder / "model.pkl")
    assert learn.model.whiten.weight.std() > 0.1  # whitened, not as it was drawn
    events = EventAccumulator(str(folder)).Reload()
    tags = [tag for tag in events.Tags()["scalars"] if tag.startswith("lr/")]
    first = [events.Scalars(tag)[0].value for tag in tags]
    assert sorted(first) == pytest.approx(sorted(rates(learn.model, 0.24, batch=8)))
    steps = 12  # of 24 images in batches of 8, four times
    whitened, *others = ([event.value for event in events.Scalars(tag)] for tag in tags)
    assert len(whitened) == steps
    assert whitened == pytest.approx([whitened[0] * max(0, 1 - step / 9) for step in range(steps)], abs=1e-6)
    for curve in others:
        assert curve == pytest.approx([curve[0] * (1 - step / steps) for step in range(steps)])


def test_the_users_flags_hold(colours, train):
    (code, _, err), folder = train(colours, *FEW, "--epochs", 1, "--target", 95, "--label-smoothing", 0, "--aug", "pad")
    assert code == 0, err
    settings = yaml.safe_load((folder / "args.yaml").read_text())
    assert (settings["arch"], settings["aug"], settings["label_smoothing"]) == ("airbench95_cifar", "pad", 0)


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["--target", "95"], "error: --target goes with --recipe speed"),
        (
            ["--recipe", "speed", "--arch", "resnet18"],
            "error: --recipe speed trains airbench94_cifar, not resnet18: give --arch auto, or leave out the recipe",
        ),
        (
            ["--arch", "resnet20_cifar", "--opt", "muon"],
            "error: --opt muon is for the networks of --recipe speed: give adam or sgd",
        ),
        (
            ["--recipe", "speed", "--lr", "find"],
            "error: --lr find does not suit --opt muon: give a number, or leave it out",
        ),
    ],
)
def test_refusals(colours, train, argv, line):
    (code, out, err), folder = train(colours, *argv)
    assert (code, out, folder) == (2, "", None)
    assert err.splitlines()[-1] == line


def test_killed_and_resumed_it_ends_as_if_it_had_not_been(colours_once, tmp_path):
    shutil.copytree(colours_once, tmp_path / "colours")
    few = ("colours", *FEW, "--epochs", 5)
    with ForkedRuns(tmp_path) as runs:
        assert runs.train(*few, "--output", "whole").code == 0
        killed = runs.train(*few, "--output", "killed", kill_said="\n    4  unfrozen")  # the flips of a pass later
        assert killed.code == -signal.SIGKILL
        (folder,) = (tmp_path / "killed").iterdir()
        assert runs.train("--resume", f"killed/{folder.name}").code == 0
    (whole,) = (tmp_path / "whole").iterdir()
    one, other = (load_file(run / "model.safetensors") for run in (whole, folder))
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)
