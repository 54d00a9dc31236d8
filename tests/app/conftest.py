"""A small photo folder, the commands run in this process, and one trained model for all tests that need one."""

import io
import shutil
import sys
from collections import namedtuple
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest
from PIL import Image

from app.errors import run

COLOURS = {"blue": (40, 40, 200), "red": (200, 40, 40)}
COUNTS = {"train": 12, "valid": 6}
SIDE, NOISE = 48, 40

Result = namedtuple("Result", "code out err")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """What is measured here is not kept for the user, nor the user's measurements used."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def colours_once(tmp_path_factory):
    """2 classes x 12 training and 6 validation images of 48 px, noise around a colour; not to be changed."""
    root = tmp_path_factory.mktemp("colours")
    rng = np.random.default_rng(0)
    for split, count in COUNTS.items():
        for name, colour in COLOURS.items():
            folder = root / split / name
            folder.mkdir(parents=True)
            for index in range(count):
                pixels = np.array(colour) + rng.integers(-NOISE, NOISE, (SIDE, SIDE, 3))
                Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(folder / f"{index}.jpg")
    return root


@pytest.fixture
def colours(colours_once, tmp_path):
    """A copy of the small photo folder, for this test alone."""
    return shutil.copytree(colours_once, tmp_path / "colours")


@pytest.fixture(scope="session")
def call():
    """Run a command as the shell would, but in this process: exit code, standard output and error."""

    def call(main, *argv):
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = run(main, [str(word) for word in argv])
        return Result(code, out.getvalue(), err.getvalue())

    return call


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder, where the user stands."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))  # a network of the user's adds this folder
    return folder


@pytest.fixture
def train(here, call):
    """`app.train` run `here`; the exit code, what was said, and the only run folder or None."""
    from app.train import main

    def train(*argv):
        result = call(main, *argv)
        runs = sorted((here / "runs").glob("*")) if (here / "runs").exists() else []
        return result, (runs[-1] if runs else None)

    return train


def _train_once(call, source, where, *argv):
    from app.train import main

    result = call(main, source, "--output", where / "runs", "--export", where / "model.pkl", *argv)
    assert result.code == 0, result.err
    (folder,) = (where / "runs").iterdir()
    return result, folder


@pytest.fixture(scope="session")
def trained(colours_once, call, tmp_path_factory):
    """Two epochs of the default network for small images: the result of the command and its run folder."""
    return _train_once(call, colours_once, tmp_path_factory.mktemp("trained"), "--epochs", 2)


@pytest.fixture(scope="session")
def fine_tuned(colours_once, call, tmp_path_factory):
    """The probe, one frozen and two unfrozen epochs of the pretrained network."""
    arch = ("--arch", "tf_efficientnet_lite0", "--img-size", 32, "--batch-size", 8)
    epochs = ("--freeze-epochs", 1, "--epochs", 2)
    return _train_once(call, colours_once, tmp_path_factory.mktemp("fine_tuned"), *arch, *epochs)


@pytest.fixture(scope="session")
def model(trained):
    """An exported model of the two colours."""
    return trained[1] / "model.pkl"
