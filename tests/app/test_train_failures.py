"""`app.train` with input it cannot use, or a run that goes wrong: one line, an exit code, nothing lost.

python -m pytest tests/app/test_train_failures.py
"""

import csv
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from callbacks.checkpoint_file import read_checkpoint
from models import load

LAYOUT = "expected one folder per class, or train/ and valid/ that hold one folder per class"


def last_line(result):
    assert "Traceback" not in result.err
    assert result.err.endswith("\n")
    return result.err.splitlines()[-1]


def refuse(train, here, *argv):
    """The line for a command that fails before training: exit 2, nothing on standard output, nothing written."""
    result, folder = train(*argv)
    assert (result.code, result.out, folder) == (2, "", None)
    assert list(here.iterdir()) == []
    return last_line(result)


def test_a_missing_source(train, here):
    assert refuse(train, here) == "error: SOURCE is missing: give a folder of images, or cifar10"


def test_a_missing_path(train, here):
    assert refuse(train, here, "nosuch") == "error: nosuch: no such folder"


def test_a_file_instead_of_a_folder(train, here, colours):
    photo = colours / "train" / "red" / "0.jpg"
    line = f"error: {photo} is a file: give the folder that holds the images ({LAYOUT})"
    assert refuse(train, here, photo) == line


def test_a_folder_without_images(train, here, tmp_path):
    (tmp_path / "empty" / "notes").mkdir(parents=True)
    line = f"error: no images found in {tmp_path}/empty (it has notes/): {LAYOUT}"
    assert refuse(train, here, tmp_path / "empty") == line


def test_one_class_only(train, here, colours):
    for split in ("train", "valid"):
        shutil.rmtree(colours / split / "red")
    assert refuse(train, here, colours) == f"error: {colours} has 1 class: a classifier needs two or more ({LAYOUT})"


def test_a_class_only_in_validation(train, here, colours):
    shutil.copytree(colours / "valid" / "red", colours / "valid" / "zebra")
    line = f"error: {colours}: 1 class only in validation: zebra; add to train/ or remove"
    assert refuse(train, here, colours) == line


def test_a_class_missing_in_validation_is_said_and_trained(train, colours):
    shutil.rmtree(colours / "valid" / "blue")
    result, folder = train(colours, "--epochs", 1)
    assert result.code == 0
    assert "warning: 1 class without validation images: blue\n" in result.err
    assert load(folder / "model.pkl").classes == ["blue", "red"]


def test_a_batch_above_the_number_of_images_shrinks(train, colours):
    result, folder = train(colours, "--epochs", 1, "--batch-size", 64)
    assert result.code == 0
    assert "warning: batch size 64 is lowered: there are 24 training images\n" in result.err
    assert "batch_size: 24\n" in (folder / "args.yaml").read_text()


def test_a_batch_of_one(train, here, colours):
    line = (
        "error: argument --batch-size/-b: 1: batch normalisation needs two images or more "
        "(see python -m app.train --help)"
    )
    assert refuse(train, here, colours, "--batch-size", 1) == line


def test_a_last_batch_of_one_is_dropped(train, colours):
    for name in ("red", "blue"):
        (colours / "train" / name / "0.jpg").unlink()
    (colours / "train" / "red" / "1.jpg").unlink()  # 21 = 4 batches of 5 and one image
    result, folder = train(colours, "--epochs", 1, "--batch-size", 5)
    assert result.code == 0, result.err
    with (folder / "results.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert float(row["images_per_second"]) * float(row["train_seconds"]) == pytest.approx(20, rel=1e-3)


@pytest.mark.parametrize("inside", ["--output", "--export"])
def test_an_output_inside_the_data_set(train, here, colours, inside):
    line = refuse(train, here, colours, inside, colours / "out")
    assert line == (
        f"error: {inside} {colours}/out lies inside the data set {colours}: nothing is written there, choose another"
    )


def test_an_output_that_cannot_be_written(train, here, tmp_path, colours):
    (tmp_path / "file").touch()
    line = refuse(train, here, colours, "--output", tmp_path / "file" / "runs")
    assert line == f"error: --output: {tmp_path}/file cannot be written: choose another place"


def test_an_unknown_architecture(train, here, colours):
    line = refuse(train, here, colours, "--arch", "resnet20_cifr")
    assert line.startswith("error: unknown architecture 'resnet20_cifr': did you mean resnet20_cifar, ")


def test_images_too_small_for_the_network(train, here, colours):
    line = refuse(train, here, colours, "--arch", "alexnet", "--no-pretrained", "--img-size", 32)
    assert line.startswith("error: alexnet cannot take images of 32 px (")
    assert line.endswith("): give --img-size 224, or another --arch")


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """No cache of weights, and no way out: a proxy at a port where nobody listens."""
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))


@pytest.mark.parametrize("arch", ["resnet18", "mobilenet_v3_small", "resnet10t.c3_in1k"])
def test_weights_that_cannot_be_fetched(train, here, colours, offline, arch):
    line = refuse(train, here, colours, "--arch", arch)
    assert line.startswith(f"error: no pretrained weights for {arch} (")
    assert line.endswith(
        "): check the network connection, train from scratch with --no-pretrained, "
        "or use the embedded --arch tf_efficientnet_lite0"
    )


@pytest.mark.parametrize("batch_size", [24, 6])
def test_a_loss_that_is_no_number(train, here, colours, batch_size):
    flags = ("--epochs", 3, "--lr", "1e10", "--opt", "sgd", "--batch-size", batch_size)
    result, folder = train(colours, *flags)
    assert result.code == 1
    assert last_line(result).startswith("error: the ")
    assert last_line(result).endswith(" in epoch 1: lower --lr, or check the images")
    assert not (here / "model.pkl").exists()
    assert not (folder / "model.pkl").exists()


def test_an_earlier_model_survives_a_run_that_fails(train, here, colours):
    with zipfile.ZipFile(here / "model.pkl", "w") as earlier:
        earlier.writestr("model/data.pkl", "earlier")
    before = (here / "model.pkl").read_bytes()
    result, _ = train(colours, "--epochs", 1, "--lr", "1e10")
    assert result.code == 1
    assert (here / "model.pkl").read_bytes() == before


def test_debug_shows_the_traceback(train):
    result, _ = train("nosuch", "--debug")
    assert result.code == 2
    assert "Traceback (most recent call last):\n" in result.err
    assert result.err.endswith("DataError: nosuch: no such folder\nerror: nosuch: no such folder\n")


def start(here, *argv):
    return subprocess.Popen(
        [sys.executable, "-u", "-m", "app.train", *map(str, argv)],
        cwd=here,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def read_until(stream, start_of_line):
    for line in stream:
        if line.lstrip().startswith(start_of_line):
            return
    raise AssertionError(f"the command ended before it wrote {start_of_line!r}")


def test_ctrl_c_ends_the_batch_and_keeps_what_was_learned(here, colours):
    process = start(here, colours, "--epochs", 1000, "--batch-size", 6)
    read_until(process.stdout, "1  unfrozen")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    (folder,) = (here / "runs").iterdir()
    said, resume = err.splitlines()[-2:]
    assert said.startswith("interrupted: the best so far (epoch ")
    assert said.endswith(f") is in runs/{folder.name}/model.pkl")
    assert resume == f"to go on: python -m app.train --resume runs/{folder.name}"
    assert load(folder / "model.pkl").classes == ["blue", "red"]
    assert [path.name for path in here.iterdir()] == ["runs"]
    with (folder / "results.csv").open(newline="") as file:
        epochs = [row["epoch"] for row in csv.DictReader(file)]
    assert epochs == [str(number) for number in range(1, len(epochs) + 1)]
    written = EventAccumulator(str(folder)).Reload().Scalars("valid/loss")
    assert [str(event.step) for event in written] == epochs


@pytest.mark.slow
def test_ctrl_c_during_the_scan(here, tmp_path, colours):
    for index in range(20_000):  # some seconds of reading
        (tmp_path / "colours" / "train" / "red" / f"link{index}.jpg").symlink_to(colours / "train" / "red" / "0.jpg")
    process = start(here, colours)
    read_until(process.stderr, "python ")
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "interrupted\n")
    assert time.monotonic() - began < 2
    assert list(here.iterdir()) == []


def test_an_export_over_another_file_is_refused(train, here, colours_once):
    (here / "settings.yaml").write_text("epochs: 1")
    result, folder = train(colours_once, "--config", "settings.yaml", "--export", "settings.yaml")
    assert (result.code, folder) == (2, None)
    assert last_line(result) == "error: --export settings.yaml is there already and no model: choose another name"
    assert (here / "settings.yaml").read_text() == "epochs: 1"


def test_a_run_whose_reader_goes_away_is_trained_to_its_end(colours_once, here):
    command = [sys.executable, "-m", "app.train", colours_once, "--epochs", "2", "--device", "cpu"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=here)
    process.stdout.readline()
    process.stdout.close()
    errors = process.stderr.read()
    assert process.wait() == 0, errors
    assert "warning: results cannot be written any more (Broken pipe): the training goes on without" in errors
    assert load(here / "model.pkl").classes == ["blue", "red"]


def test_a_run_that_fails_after_an_epoch_keeps_its_best_in_the_run_folder(train, here, colours_once, monkeypatch):
    from callbacks.results import ResultsCSV

    write = ResultsCSV.on_row

    def fail_at_the_second(self, row):
        if row["epoch"] == 2:
            raise OSError(28, "No space left on device", "results.csv")
        write(self, row)

    monkeypatch.setattr(ResultsCSV, "on_row", fail_at_the_second)
    result, folder = train(colours_once, "--epochs", "3")
    assert result.code == 1
    assert f"the best so far (epoch 1) is in {folder.relative_to(here) / 'model.pkl'}" in result.err
    assert load(folder / "model.pkl").classes == ["blue", "red"]
    assert not (here / "model.pkl").exists()


def press_ctrl_c_in(monkeypatch, cls, event, when):
    """Send SIGINT to this process in an event of a callback, once `when` holds."""
    original = getattr(cls, event)

    def pressed(self):
        original(self)
        if when(self):
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(cls, event, pressed)


def test_interrupted_before_the_first_epoch_ended(train, here, colours_once, monkeypatch):
    from callbacks.timing import EpochTimer

    press_ctrl_c_in(monkeypatch, EpochTimer, "after_batch", lambda timer: timer.run_step == 2)
    result, folder = train(colours_once, "--epochs", 1, "--batch-size", 6)
    name = folder.relative_to(here)
    assert result.code == 130
    assert result.err.splitlines()[-2:] == [
        f"interrupted before the first epoch ended: {name}/model.pkl has the weights after 2 steps, never validated",
        f"to go on: python -m app.train --resume {name}",
    ]
    assert load(folder / "model.pkl").classes == ["blue", "red"]
    assert not (here / "model.pkl").exists()


def test_interrupted_before_the_first_step(train, here, colours_once, monkeypatch):
    from callbacks.timing import EpochTimer

    press_ctrl_c_in(monkeypatch, EpochTimer, "before_fit", lambda timer: True)
    result, folder = train(colours_once, "--epochs", 1)
    assert result.code == 130
    assert result.err.splitlines()[-2:] == [
        "interrupted before the first step: there is no model",
        f"to go on: python -m app.train --resume {folder.relative_to(here)}",
    ]
    assert not (folder / "model.pkl").exists()


def test_a_loss_that_is_no_number_after_good_epochs(train, here, colours_once, monkeypatch):
    from callbacks.timing import EpochTimer

    original = EpochTimer.before_train

    def poison(self):
        original(self)
        if self.run_epoch == 3:
            next(self.learn.model.parameters()).data.fill_(float("nan"))

    monkeypatch.setattr(EpochTimer, "before_train", poison)
    result, folder = train(colours_once, "--epochs", 4)
    assert result.code == 1
    assert last_line(result) == "error: the training loss became nan in epoch 3: lower --lr, or check the images"
    assert not (here / "model.pkl").exists()
    state = read_checkpoint(folder / "checkpoints" / "last.pth")
    assert len(state["callbacks"]["epoch_timer"]["rows"]) == 2
    kept = [*state["model"].values(), *load(folder / "model.pkl").network.parameters()]
    assert all(tensor.isfinite().all() for tensor in kept)


def test_a_worker_that_is_killed(train, here, colours_once, monkeypatch):
    from callbacks.timing import EpochTimer

    original = EpochTimer.after_batch

    def kill(self):
        original(self)
        if self.training:
            os.kill(multiprocessing.active_children()[0].pid, signal.SIGKILL)
            time.sleep(0.5)

    monkeypatch.setattr(EpochTimer, "after_batch", kill)
    result, folder = train(colours_once, "--epochs", 1, "--workers", 2, "--batch-size", 2)
    assert result.code == 1
    assert result.err.splitlines()[-2] == f"to go on: python -m app.train --resume {folder.relative_to(here)}"
    assert last_line(result).startswith("error: RuntimeError: DataLoader worker (pid ")
    assert last_line(result).endswith(
        "(a worker process was killed, for lack of memory or of /dev/shm perhaps: use --workers 0)"
    )


@pytest.mark.parametrize("workers", [0, 2])
def test_a_data_set_that_vanishes(train, here, colours, monkeypatch, workers):
    from callbacks.results import ResultsCSV

    write = ResultsCSV.on_row

    def vanish(self, row):
        write(self, row)
        shutil.rmtree(colours)

    monkeypatch.setattr(ResultsCSV, "on_row", vanish)
    with zipfile.ZipFile(here / "model.pkl", "w") as earlier:
        earlier.writestr("model/data.pkl", "earlier")
    before = (here / "model.pkl").read_bytes()
    result, folder = train(colours, "--epochs", 2, "--workers", workers)
    assert result.code == 1
    assert result.err.splitlines()[-3:-1] == [
        f"the best so far (epoch 1) is in {folder.relative_to(here)}/model.pkl",
        f"to go on: python -m app.train --resume {folder.relative_to(here)}",
    ]
    assert last_line(result).startswith(f"error: {colours}/train/")
    assert last_line(result).endswith(": no such file")
    assert (here / "model.pkl").read_bytes() == before
    assert len(read_checkpoint(folder / "checkpoints" / "last.pth")["callbacks"]["epoch_timer"]["rows"]) == 1
    assert load(folder / "model.pkl").classes == ["blue", "red"]


def test_an_older_model_is_replaced_and_that_is_said(train, here, colours_once):
    result, folder = train(colours_once, "--epochs", 1)
    assert f"model: model.pkl (also {folder.relative_to(here)}/model.pkl)\n" in result.out
    result, folder = train(colours_once, "--epochs", 1)
    assert f"model: model.pkl replaces an older one (also {folder.relative_to(here)}/model.pkl)\n" in result.out
