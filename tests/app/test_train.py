"""`app.train` from a folder of photos to a model: what it writes, says, and counts.

python -m pytest tests/app/test_train.py
"""

import csv
import json
import os
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
import torch
import yaml
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from callbacks.results import COLUMNS
from models import load

EPOCH_TAGS = {
    "time/train_epoch",
    "time/data_wait",
    "time/valid_epoch",
    "time/warmup_epoch",
    "throughput/train",
    "train/loss_epoch",
    "valid/loss",
    "valid/accuracy",
    "valid/f1",
    "memory/process",
}
STEP_TAGS = {"train/loss", "train/loss_raw"}
FINAL_TAGS = {"final/accuracy", "final/macro_f1", "final/log_loss", "final/calibration_error"}
ROW = re.compile(
    r" +\d+  (frozen|unfrozen)"
    r" +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+(  \(set-up time included\))?"
)


def rows(folder):
    with (folder / "results.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def losses(folder):
    return [(row["train_loss"], row["valid_loss"], row["accuracy"]) for row in rows(folder)]


def scalars(folder):
    events = EventAccumulator(str(folder)).Reload()
    return {tag: events.Scalars(tag) for tag in events.Tags()["scalars"]}


def listing(root):
    return {path.relative_to(root).as_posix(): path.stat().st_mtime_ns for path in sorted(root.rglob("*"))}


def test_a_run_folder_holds_the_run(trained):
    _, folder = trained
    names = sorted(re.sub(r"\.\d+\..*", "", path.name) for path in folder.iterdir())
    bundle = ["model.json", "model.pkl", "model.safetensors"]
    others = ["args.yaml", "checkpoints", "environment.json", "events.out.tfevents", "predictions.csv", "results.csv"]
    others += ["evaluation.json", "skipped.csv", "confusion_matrix.png", "reliability.png", "results.png"]
    others += ["report.html", "train_batch.png", "val_pred.png"]
    others += [".lock", "projector_config.pbtxt", "00000"]  # TensorBoard's projector
    assert names == sorted(others + bundle)
    assert sorted(path.name for path in (folder / "checkpoints").iterdir()) == ["best.pth", "last.pth"]
    assert re.fullmatch(r"\d{8}-\d{6}-resnet20_cifar-32", folder.name)


def test_what_was_settled_is_written(trained, colours_once):
    _, folder = trained
    settings = yaml.safe_load((folder / "args.yaml").read_text())
    expected = {
        "source": str(colours_once),
        "arch": "resnet20_cifar",
        "pretrained": False,
        "img_size": 32,
        "epochs": 2,
        "freeze_epochs": 0,
        "batch_size": 24,
        "lr": 4e-3,
        "wd": 1e-2,
    }
    assert expected.items() <= settings.items()
    environment = json.loads((folder / "environment.json").read_text())
    assert set(environment) == {"versions", "platform", "device", "device_reason"}


def test_the_export_is_the_model_of_the_run(trained):
    _, folder = trained
    assert (folder.parent.parent / "model.pkl").read_bytes() == (folder / "model.pkl").read_bytes()


def test_results_have_a_row_per_epoch_from_one(trained):
    _, folder = trained
    found = rows(folder)
    assert tuple(found[0]) == COLUMNS
    assert COLUMNS[:5] == ("epoch", "phase", "train_loss", "valid_loss", "accuracy")
    assert COLUMNS[6:10] == ("train_seconds", "valid_seconds", "images_per_second", "data_wait")
    assert [(row["epoch"], row["phase"], row["warmup"]) for row in found] == [
        ("1", "unfrozen", "1"),
        ("2", "unfrozen", "0"),
    ]
    for row in found:
        assert float(row["images_per_second"]) == pytest.approx(24 / float(row["train_seconds"]), rel=1e-3)
        assert float(row["valid_seconds"]) > 0
        assert 0 < float(row["data_wait"]) < float(row["train_seconds"])


def test_epochs_and_steps_grow_over_both_fits(fine_tuned):
    _, folder = fine_tuned
    assert [(row["epoch"], row["phase"]) for row in rows(folder)] == [
        ("0", "probe"),
        ("1", "frozen"),
        ("2", "unfrozen"),
        ("3", "unfrozen"),
    ]
    found = scalars(folder)
    steps = STEP_TAGS | {"lr/body", "lr/head", "momentum/body", "momentum/head"}
    assert set(found) == EPOCH_TAGS | FINAL_TAGS | steps
    for tag in steps:  # 3 steps an epoch: the last of each is written
        assert [event.step for event in found[tag]] == [3, 6, 9], tag
    for tag in EPOCH_TAGS:
        assert [event.step for event in found[tag]] == [0, 1, 2, 3], tag
    assert [event.value for event in found["time/warmup_epoch"]] == [0, 1, 1, 0]
    for column, tag in (("train_loss", "train/loss_epoch"), ("accuracy", "valid/accuracy")):
        written = [float(row[column]) for row in rows(folder)]
        assert [event.value for event in found[tag]] == pytest.approx(written, rel=1e-4)


def test_the_steps_of_a_run_are_counted_through(colours, train):
    result, folder = train(colours, "--epochs", 6, "--batch-size", 6)
    assert result.code == 0, result.err
    found = scalars(folder)
    steps = STEP_TAGS | {"lr/all", "momentum/all"}
    assert set(found) == EPOCH_TAGS | FINAL_TAGS | steps | {"train/gradient_norm"}
    assert [event.step for event in found["train/gradient_norm"]] == [10, 20]
    for tag in steps:  # 4 steps an epoch: every tenth, and the last of each
        assert [event.step for event in found[tag]] == [4, 8, 10, 12, 16, 20, 24], tag


def test_one_event_file_a_run(fine_tuned):
    _, folder = fine_tuned
    assert len(list(folder.glob("events.out.tfevents.*"))) == 1


def test_standard_output_holds_rows_and_the_result_only(trained, colours_once):
    result, folder = trained
    header, first, second, best, *end = result.out.splitlines()
    assert header.split() == [
        "epoch",
        "phase",
        "train_loss",
        "valid_loss",
        "accuracy",
        "f1",
        "train_s",
        "wait_s",
        "valid_s",
        "images/s",
    ]
    assert ROW.fullmatch(first)[2]
    assert ROW.fullmatch(second)[2] is None
    assert re.fullmatch(r"best accuracy \d\.\d{4} \(epoch [12]\), \d+ s in all", best)
    runs, export = folder.parent, folder.parent.parent / "model.pkl"
    assert end == [
        f"model: {export} (also {folder / 'model.pkl'})",
        f"predict: python -m app.predict {export} {colours_once}/valid/blue/0.jpg",
        f"dashboard: tensorboard --logdir {runs}, then http://localhost:6006/#custom_scalars",
    ]


def test_talk_goes_to_standard_error(trained, colours_once):
    result, folder = trained
    lines = result.err.splitlines()
    said_of_speed, evaluation, calibration, memory = lines[-5:-3], *lines[-3:]
    assert evaluation == "evaluation: the exported model, on 12 validation images"
    assert calibration == "calibration: none (12 validation images are too few)"
    assert re.fullmatch(r"memory: [\d.]+ GB at most, mapped files of the cache included", memory)
    assert re.fullmatch(r"precision: float32 \(about \d+ s of training are too few to measure others\)", lines[-5])
    assert lines[-4] == "compile: off (the training is too short)"
    assert lines[1:3] + lines[4:] == [
        f"data: {colours_once} (train/ and valid/): 24 training and 12 validation images",
        "classes: 2 (blue, red)",
        "warning: batch size 64 is lowered: there are 24 training images",
        "model: resnet20_cifar (from scratch) at 32 px",
        "training: 2 epochs, batch size 24, adam, learning rate 0.004, weight decay 0.01, seed 42",
        "augmentation: fastai's aug_transforms, strength 1, with flips",
        f"run folder: {folder}",
        *said_of_speed,
        evaluation,
        calibration,
        memory,
    ]
    assert re.fullmatch(r"python \S+, fastai \S+, torch \S+, torchvision \S+, timm \S+", lines[0])
    assert re.fullmatch(r"device: \S+ \(.+\)", lines[3])


def test_the_commands_it_ends_with_work(trained, call):
    from app.predict import main

    result, _ = trained
    (line,) = (line for line in result.out.splitlines() if line.startswith("predict: "))
    again = call(main, *line.split()[4:])
    assert again.code == 0, again.err
    assert again.out.count("\n") == 1


def test_nothing_is_written_into_the_data_set(colours, train):
    before = listing(colours)
    result, _ = train(colours, "--epochs", 1)
    assert result.code == 0, result.err
    assert listing(colours) == before


def test_a_data_set_that_is_read_only(colours, train):
    for path in (colours, *colours.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    result, _ = train(colours, "--epochs", 1)
    for path in (colours, *colours.rglob("*")):
        path.chmod(0o755)
    assert result.code == 0, result.err


def test_a_flat_folder_is_split_and_said_so(colours, train):
    shutil.rmtree(colours / "valid")
    result, _ = train(colours / "train", "--epochs", 1, "--valid-pct", "0.25")
    assert result.code == 0, result.err
    assert "no validation split, so 25% of each class drawn with seed 42" in result.err
    assert "18 training and 6 validation images" in result.err


def test_equal_seeds_give_equal_runs_and_others_do_not(colours, train):
    def losses_with(*flags):
        result, folder = train(colours, "--epochs", 2, "--batch-size", 8, *flags)
        assert result.code == 0, result.err
        return losses(folder)

    first = losses_with("--seed", 7)
    assert losses_with("--seed", 7, "--workers", 2) == first
    assert losses_with("--seed", 8) != first


def test_each_run_has_its_own_folder(colours, train, here):
    folders = {train(colours, "--epochs", 1)[1] for _ in range(2)}
    assert len(folders) == 2
    assert all(len(rows(folder)) == 1 for folder in folders)
    assert all(len(scalars(folder)["valid/loss"]) == 1 for folder in folders)


def test_the_bundle_is_exported_and_copied(trained):
    _, folder = trained
    export = folder.parent.parent
    for name in ("model.pkl", "model.safetensors", "model.json"):
        assert (export / name).read_bytes() == (folder / name).read_bytes()
    facts = json.loads((folder / "model.json").read_text())
    assert facts["metrics"]["accuracy"] == pytest.approx(float(trained[0].out.split("best accuracy ")[1][:6]), abs=1e-4)
    assert facts["classes"] == ["blue", "red"]


def test_the_best_epoch_is_what_is_exported(trained, colours_once):
    from data import read_image

    _, folder = trained
    best = max(rows(folder), key=lambda row: (float(row["accuracy"]), -float(row["valid_loss"])))
    files = sorted(colours_once.glob("valid/*/*.jpg"))
    predictor = load(folder / "model.pkl")
    probabilities = predictor.probabilities([read_image(file) for file in files])
    wanted = torch.tensor([predictor.classes.index(file.parent.name) for file in files])
    assert (probabilities.argmax(1) == wanted).float().mean().item() == pytest.approx(float(best["accuracy"]), abs=1e-4)
    loss = -probabilities[range(len(files)), wanted].log().mean()
    assert loss.item() == pytest.approx(float(best["valid_loss"]), rel=1e-3, abs=1e-5)


def test_sgd_other_sizes_and_a_name(colours, train):
    flags = ("--opt", "sgd", "--imgsz", 40, "--name", "with sgd", "--aug-mult", 0, "--limit", 10, "--wd", 0)
    result, folder = train(colours, "--epochs", 1, *flags)
    assert result.code == 0, result.err
    assert folder.name.endswith("-resnet20_cifar-40-with-sgd")
    assert "10 training and 10 validation images" in result.err
    assert "sgd, learning rate 0.1, weight decay 0.0" in result.err


def test_a_network_of_the_users_own(colours, train, here):
    (here / "tiny_net.py").write_text(
        "from torch import nn\n\n\ndef build(classes):\n"
        "    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, classes))\n"
    )
    result, folder = train(colours, "--epochs", 1, "--arch", "tiny_net:build")
    assert result.code == 0, result.err
    assert folder.name.endswith("-tiny_net-build-32")
    assert load(folder / "model.pkl", trust=True).classes == ["blue", "red"]
    assert "predict: python -m app.predict --trust model.pkl " in result.out


@pytest.mark.slow
def test_the_rate_finder_suggests_and_keeps_its_plot(colours, train):
    result, folder = train(colours, "--epochs", 1, "--lr", "find", "--batch-size", 6)
    assert result.code == 0, result.err
    rate = yaml.safe_load((folder / "args.yaml").read_text())["lr"]
    assert 1e-6 < rate < 1
    assert ", learning rate to be found, weight decay" in result.err
    assert f"learning rate {rate:.3g}, suggested by the finder (runs/{folder.name}/lr_find.png)" in result.err
    assert (folder / "lr_find.png").stat().st_size > 1000
    assert not (folder / "models").exists()
    assert len(rows(folder)) == 1


def test_what_is_asked_of_a_network_without_published_weights(colours, train):
    asked = ("--pretrained", "--probe", "--freeze-epochs", 1, "--no-train-bn")
    (code, _, err), folder = train(colours, "--dry-run", *asked)
    assert code == 0, err
    warnings = [line for line in err.splitlines() if line.startswith("warning: --")]
    assert warnings == [
        "warning: --pretrained has no meaning for resnet20_cifar, which has no published weights: ignored",
        "warning: --probe has no meaning without pretrained weights: ignored",
        "warning: --freeze-epochs has no meaning without pretrained weights: ignored",
        "warning: --no-train-bn has no meaning without pretrained weights: ignored",
    ]
    (code, _, err), _ = train(colours, "--dry-run", "--config", folder / "args.yaml")  # which holds what was done
    assert code == 0, err
    assert not [line for line in err.splitlines() if line.startswith("warning: --")]


def test_list_archs(call):
    from app.train import main

    assert call(main, "--list-archs", "resnet*_cifar").out.split() == [
        f"resnet{depth}_cifar" for depth in (20, 18, 34, 36, 50)
    ]
    assert call(main, "--list-archs", "zzz") == (2, "", "error: --list-archs zzz: no architecture matches\n")


def test_the_commands_at_the_end_can_be_pasted(colours_once, train, here):
    folder = here / "my photos"
    shutil.copytree(colours_once, folder)
    result, _ = train(folder, "--epochs", 1, "--export", "my model.pkl")
    line = next(line for line in result.out.splitlines() if line.startswith("predict: "))
    *_, model, photo = shlex.split(line)
    assert (model, Path(photo).is_file()) == ("my model.pkl", True)


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are Unicode")
def test_a_class_whose_name_is_no_unicode(colours, train, call):
    """What is written for programs holds the name as it is, what is drawn or shown spells it out."""
    from app.predict import main

    for split in ("train", "valid"):
        (colours / split / "red").rename(colours / split / os.fsdecode(b"caf\xe9"))
    result, folder = train(colours, "--epochs", 1)
    assert result.code == 0, result.err
    assert "evaluation is not complete" not in result.err
    assert json.loads((folder / "model.json").read_text())["classes"] == ["blue", "caf\udce9"]
    assert "<td>caf\\udce9</td>" in (folder / "report.html").read_text(encoding="utf-8")
    assert b",caf\xe9," in (folder / "predictions.csv").read_bytes()
    events = EventAccumulator(str(folder)).Reload()
    assert "precision_recall/caf\\udce9" in events.Tags()["tensors"]
    photo = colours / "valid" / "caf\udce9" / "0.jpg"
    said = json.loads(call(main, "model.pkl", photo, "--format", "json").out)
    assert {entry["class"] for entry in said[0]["topk"]} == {"blue", "caf\udce9"}


def test_an_earlier_model_is_trained_on(trained, colours, train):
    model = trained[1] / "model.pkl"
    result, folder = train(colours, "--epochs", 1, "--weights", model, "--lr", "1e-9")
    assert result.code == 0, result.err
    assert f"weights: {model}, of a network for 2 classes at 32 px" in result.err
    before, after = (load(path).facts for path in (model, folder / "model.pkl"))
    assert (after["architecture"], after["mean"]) == (before["architecture"], before["mean"])
    assert after["metrics"]["accuracy"] == pytest.approx(before["metrics"]["accuracy"], abs=0.1)
    assert yaml.safe_load((folder / "args.yaml").read_text())["weights"] == str(model)


def test_weights_of_another_network(trained, colours, train):
    model = trained[1] / "model.pkl"
    code, _, err = train(colours, "--weights", model, "--arch", "resnet18_cifar")[0]
    assert code == 2
    assert "error: the weights to start from are of another network: no conv1.weight of this size (107 of 122" in err


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, ": no such file, give an exported model.pkl"),
        (b"", " is empty: export the model again"),
        (b"hi\n", " is not an exported model: give the model.pkl that app.train wrote"),
    ],
)
def test_weights_that_cannot_be_loaded_are_said_before_the_data_are_looked_at(train, here, content, reason):
    (here / "nothing").mkdir()  # a data set that is an error too
    path = here / "earlier.pkl"
    if content is not None:
        path.write_bytes(content)
    result, folder = train("nothing", "--weights", path)
    assert (result.code, folder) == (2, None)
    assert result.err.splitlines()[-1].startswith(f"error: {path}{reason}")
