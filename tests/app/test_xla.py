"""`--device xla` from a folder to predictions, on XLA's CPU runtime, each command in a process of its own.

python -m pytest tests/app/test_xla.py
"""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from app.compiling import choose_compile
from app.errors import UsageError
from app.precision import choose_way
from app.trial import Way, Work
from app.xla import devices_in_use, loader_device
from callbacks.xla import runtime

PROJECT = Path(__file__).resolve().parents[2]
XLA_TAGS = {
    "xla/compiles",
    "xla/compiles_cached",
    "xla/compile_seconds",
    "xla/transfers_from_device",
    "xla/transfers_to_device",
    "xla/images_per_second_per_device",
}


def run(where, module, *words, devices=1, **variables):
    environment = os.environ | {
        "PYTHONPATH": str(PROJECT),
        "OMP_NUM_THREADS": "1",
        "PJRT_DEVICE": "CPU",
        "CPU_NUM_DEVICES": str(devices),
        "XLA_FLAGS": "--xla_backend_optimization_level=0",
    }
    return subprocess.run(
        [sys.executable, "-m", module, *map(str, words)],
        cwd=where,
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.fixture(scope="module")
def trained(colours_once, tmp_path_factory):
    """Two epochs of three steps on two devices."""
    pytest.importorskip("torch_xla")
    where = tmp_path_factory.mktemp("xla")
    flags = ("--device", "xla", "--epochs", 2, "--batch-size", 8, "--xla-metrics", "--aug-mult", 0)
    done = run(where, "app.train", colours_once, *flags, devices=2)
    assert done.returncode == 0, done.stderr
    (folder,) = (where / "runs").iterdir()
    return where, folder, done


@pytest.mark.slow
def test_the_hardware_is_what_it_is(trained):
    _, folder, done = trained
    assert "device: xla (as asked; XLA on CPU, no TPU found, 2 devices)\n" in done.stderr
    assert "compile: off (XLA compiles everything itself)\n" in done.stderr
    settings = yaml.safe_load((folder / "args.yaml").read_text())
    assert (settings["device"], settings["xla_devices"], settings["amp"]) == ("xla", 2, "off")
    environment = json.loads((folder / "environment.json").read_text())
    assert environment["device_reason"] == "as asked; XLA on CPU, no TPU found, 2 devices"


@pytest.mark.slow
def test_tensorboard_has_what_xla_did(trained):
    _, folder, done = trained
    events = EventAccumulator(str(folder)).Reload()
    assert set(events.Tags()["scalars"]) >= XLA_TAGS
    compiles = [event.value for event in events.Scalars("xla/compiles")]
    assert compiles[0] > 0
    assert compiles[1:] == [0]
    transfers = [event.value for event in events.Scalars("xla/transfers_from_device")]
    assert transfers == [4, 2]  # the first has a checkpoint and the first batch, too
    assert "warning: XLA compiled" not in done.stderr
    assert "Metric: CompileTime" in (folder / "xla_metrics.txt").read_text()


@pytest.mark.slow
def test_a_pretrained_network_begins_with_its_probe(colours_once, tmp_path):
    """The photo path: a probe on the CPU, then fixed batch norms on XLA."""
    pytest.importorskip("torch_xla")
    flags = ("--device", "xla", "--arch", "tf_efficientnet_lite0", "--img-size", 32, "--batch-size", 8)
    done = run(tmp_path, "app.train", colours_once, *flags, "--epochs", 1)
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "runs").iterdir()
    rows = list(csv.DictReader((folder / "results.csv").read_text().splitlines()))
    assert [(row["epoch"], row["phase"]) for row in rows] == [("0", "probe"), ("1", "unfrozen")]
    assert float(rows[0]["accuracy"]) == 1
    image = colours_once / "valid" / "red" / "0.jpg"
    assert run(tmp_path, "app.predict", "model.pkl", image, "--topk", 1).stdout.count("red") == 2  # folder, class


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 2])
def test_the_speed_recipe(colours_once, tmp_path, devices):
    """The losses are the CPU's; when the first layer's biases come to rest, there is one more graph."""
    pytest.importorskip("torch_xla")
    flags = ("--recipe", "speed", "--epochs", 5, "--batch-size", 8, "--amp", "off", "--seed", 3)
    flags += ("--img-size", 16)  # too small for a CPU to make them smaller in the first epochs
    losses = []
    for device, more in ("cpu", ()), ("xla", ("--xla-metrics",)):
        flags_here = (*flags, *more, "--device", device, "--output", device)
        done = run(tmp_path, "app.train", colours_once, *flags_here, devices=devices)
        assert done.returncode == 0, done.stderr
        assert "where all should be known" not in done.stderr
        assert "image sizes: 5 epochs at 16 px\n" in done.stderr
        (folder,) = (tmp_path / device).iterdir()
        rows = list(csv.DictReader((folder / "results.csv").read_text().splitlines()))
        losses.append([float(row["train_loss"]) for row in rows])
    assert losses[1] == pytest.approx(losses[0], rel=0.02)
    compiles = EventAccumulator(str(folder)).Reload().Scalars("xla/compiles")
    assert [event.value for event in compiles][1:] == [0, 0, 1, 0]


@pytest.mark.slow
def test_an_average_of_the_weights_is_refused(colours_once, tmp_path):
    pytest.importorskip("torch_xla")
    done = run(tmp_path, "app.train", colours_once, "--device", "xla", "--ema", 0.9)
    message = "error: --ema: on XLA no average of the weights is kept, leave it out"
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, message)


def test_the_loaders_of_xla_are_the_cpus():
    assert loader_device(torch.device("xla")) == torch.device("cpu")
    assert loader_device(torch.device("cuda")) == torch.device("cuda")


@pytest.mark.slow
def test_an_evaluation_is_the_cpus(trained, colours_once):
    where, _, _ = trained
    on_cpu, on_xla = (
        run(where, "app.evaluate", "model.pkl", colours_once, "--format", "json", "--device", device)
        for device in ("cpu", "xla")
    )
    assert (on_cpu.returncode, on_xla.returncode) == (0, 0), on_xla.stderr
    expected, found = json.loads(on_cpu.stdout), json.loads(on_xla.stdout)
    assert (found["device"], found["confusion_matrix"]) == ("xla", expected["confusion_matrix"])
    assert found["log_loss"] == pytest.approx(expected["log_loss"], abs=1e-5)


@pytest.mark.slow
def test_predictions_are_the_cpus(trained, colours_once):
    where, _, _ = trained
    images = sorted((colours_once / "valid").rglob("*.jpg"))
    on_cpu, on_xla = (
        run(where, "app.predict", "model.pkl", *images, "--format", "json", "--batch-size", 8, "--device", device)
        for device in ("cpu", "xla")
    )
    assert on_xla.returncode == 0, on_xla.stderr
    assert on_xla.stderr == "device: xla (as asked; XLA on CPU, no TPU found, 1 device)\n"
    pairs = list(zip(json.loads(on_cpu.stdout), json.loads(on_xla.stdout), strict=True))
    assert len(pairs) == len(images)
    for expected, found in pairs:
        assert found["file"] == expected["file"]
        assert found["class"] == expected["class"]
        assert found["probability"] == pytest.approx(expected["probability"], abs=1e-4)


@pytest.mark.slow
def test_torchrun_is_refused(colours_once, tmp_path):
    pytest.importorskip("torch_xla")
    done = run(tmp_path, "app.train", colours_once, "--device", "xla", WORLD_SIZE="2")
    message = "torchrun would train as many copies as it has processes: one process uses all XLA devices"
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, f"error: --device xla: {message}")


WORK = Work("resnet20_cifar", 32, 4, images=8, phases=1, frozen=False, device=torch.device("xla"))


def test_what_xla_does_itself_is_refused():
    with pytest.raises(UsageError) as raised:
        choose_way(None, WORK, "fp16", "auto")
    assert str(raised.value) == "--amp fp16: fp16 is not supported on xla: use bf16 or full precision"
    with pytest.raises(UsageError) as raised:
        choose_way(None, WORK, "off", "channels_last")
    message = "--memory-format channels_last: XLA lays out tensors itself; use auto or contiguous"
    assert str(raised.value) == message
    with pytest.raises(UsageError) as raised:
        choose_compile("on", None, WORK, Way("off", "contiguous"), None)
    assert str(raised.value) == "--compile on: XLA compiles everything itself; use --compile off"
    assert choose_compile("auto", None, WORK, Way("off", "contiguous"), None)[0] == "off"


def test_flags_that_mean_nothing_here(capsys):
    flags = {"device": "cpu", "xla_devices": 2, "xla_metrics": True, "xla_cache": None}
    assert devices_in_use(flags) is None
    assert capsys.readouterr().err == (
        "warning: --xla-devices has no meaning without --device xla: ignored\n"
        "warning: --xla-metrics has no meaning without --device xla: ignored\n"
    )


def test_without_torch_xla(monkeypatch):
    from app.device import choose_device

    monkeypatch.setattr(runtime, "installed", lambda: False)
    with pytest.raises(UsageError) as raised:
        choose_device("xla")
    assert str(raised.value) == (
        '--device xla: torch_xla is not installed: pip install -e ".[xla]", on Linux x86_64 with Python 3.13 or earlier'
    )


def test_the_comparing_command_says_where_to_look(call, here):
    from app.benchmark import main

    assert call(main, "--synthetic", 8, "--device", "xla") == (
        2,
        "",
        "error: --device xla: nothing is compared there; app.train measures the run itself, under xla/\n",
    )
