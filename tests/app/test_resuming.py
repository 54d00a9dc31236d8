"""`app.train --resume`: what it goes on with, and what it refuses.

python -m pytest tests/app/test_resuming.py
"""

import os
import shutil

import pytest
import torch
import yaml

from app.errors import UsageError
from app.resuming import last_checkpoint, resumed
from app.train_args import build_parser
from callbacks.checkpoint_file import read_checkpoint


@pytest.fixture
def run_folder(trained, tmp_path):
    """A finished run of this test's own."""
    return shutil.copytree(trained[1], tmp_path / "runs" / trained[1].name)


def refusal(folder, *argv):
    with pytest.raises(UsageError) as raised:
        resumed(build_parser, ["--resume", str(folder), *map(str, argv)], folder)
    return str(raised.value)


def test_the_settings_are_those_of_the_run(run_folder, colours_once):
    args = resumed(build_parser, ["--resume", str(run_folder)], run_folder)
    kept = yaml.safe_load((run_folder / "args.yaml").read_text())
    del kept["output"]
    assert {name: getattr(args, name) for name in kept} == kept
    assert (args.source, args.epochs) == (str(colours_once), 2)
    assert args.output == str(run_folder.parent)


def test_what_may_change(run_folder):
    flags = ["--workers", "1", "--device", "cpu", "--export", "other.pkl", "--checkpoint-every", "3", "--patience", "2"]
    args = resumed(build_parser, [*flags, "--resume", str(run_folder)], run_folder)
    assert (args.workers, args.device, args.export) == (1, "cpu", "other.pkl")
    assert (args.checkpoint_every, args.patience) == (3, 2)


def test_what_is_given_as_it_was_is_no_change(run_folder, colours_once, monkeypatch):
    monkeypatch.chdir(colours_once.parent)
    args = resumed(build_parser, [colours_once.name, "--epochs", "2", "--seed", "42"], run_folder)
    assert args.epochs == 2


@pytest.mark.parametrize(
    ("argv", "what"),
    [
        (("--lr", "0.5"), "--lr 0.5 cannot be changed, this run has 0.004"),
        (("--epochs", 3), "--epochs 3 cannot be changed, this run has 2"),
        (("--no-pretrained", "--opt", "sgd"), "--opt sgd cannot be changed, this run has adam"),
        (("--monitor", "loss"), "--monitor loss cannot be changed, this run has accuracy"),
        (("--limit", 5), "--limit 5 cannot be changed, this run has None"),
    ],
)
def test_what_may_not_change(run_folder, argv, what):
    assert refusal(run_folder, *argv) == (
        f"--resume {run_folder}: {what}; for a new one with its settings use --config {run_folder}/args.yaml"
    )


def test_another_source(run_folder, tmp_path):
    line = refusal(run_folder, tmp_path)
    assert line.startswith(f"--resume {run_folder}: SOURCE {tmp_path} cannot be changed, this run has ")


@pytest.mark.parametrize("flags", [("--config", "args.yaml"), ("--dry-run",), ("--list-archs", "*")])
def test_what_it_cannot_be_given_with(run_folder, flags):
    assert refusal(run_folder, *flags) == f"--resume and {flags[0]} cannot be given together"


def test_no_run_there(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    assert refusal(tmp_path / "no") == f"--resume {tmp_path}/no: no such folder, give a run folder"
    assert refusal(tmp_path / "file") == f"--resume {tmp_path}/file: is a file, give a run folder"
    assert refusal(tmp_path / "empty") == (
        f"--resume {tmp_path}/empty: holds no args.yaml, so no run that could go on: start a new one"
    )


def last_line(result):
    assert "Traceback" not in result.err
    return result.err.splitlines()[-1]


def unusable(folder, problem):
    way_out = f"put back what it was, or start a new run with --config {folder}/args.yaml"
    return f"error: --resume {folder}: {problem}: {way_out}"


def test_a_damaged_checkpoint(train, run_folder):
    path = run_folder / "checkpoints" / "last.pth"
    path.write_bytes(path.read_bytes()[:1000])
    result, _ = train("--resume", run_folder)
    assert result.code == 2
    assert last_line(result) == unusable(run_folder, f"{path} is damaged, or no checkpoint")


def test_a_flipped_bit_in_a_checkpoint(train, run_folder):
    path = run_folder / "checkpoints" / "last.pth"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 64
    path.write_bytes(content)
    result, _ = train("--resume", run_folder)
    assert (result.code, last_line(result)) == (2, unusable(run_folder, f"{path} is damaged, or no checkpoint"))


def test_a_checkpoint_that_leads_nowhere(train, run_folder):
    """The disk on which it lies may be missing: that is no reason to begin again."""
    path = run_folder / "checkpoints" / "last.pth"
    path.unlink()
    path.symlink_to("nowhere")
    result, _ = train("--resume", run_folder)
    assert (result.code, last_line(result)) == (2, f"error: {path}: No such file or directory")


def test_a_checkpoint_that_is_a_pipe(train, run_folder):
    path = run_folder / "checkpoints" / "last.pth"
    path.unlink()
    os.mkfifo(path)
    result, _ = train("--resume", run_folder)
    assert (result.code, last_line(result)) == (2, unusable(run_folder, f"{path} is no file"))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"random": None}, "the checkpoint has no random"),
        ({"optimizer": {}}, "the checkpoint is of another training, or not what was written"),
        ({"callbacks": {"epoch_timer": {}}}, "the checkpoint is of another training, or not what was written"),
    ],
)
def test_a_checkpoint_of_another_form(train, run_folder, change, problem):
    path, model = run_folder / "checkpoints" / "last.pth", (run_folder / "model.pkl").read_bytes()
    torch.save(read_checkpoint(path) | change, path)
    result, _ = train("--resume", run_folder)
    assert (result.code, last_line(result)) == (2, unusable(run_folder, problem))
    assert (run_folder / "model.pkl").read_bytes() == model


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"batch_size": 8}, "batch_size is 8 in its args.yaml, and was 24"),
        ({"epochs": 3}, "epochs is 3 in its args.yaml, and was 2"),
        ({"opt": "sgd"}, "opt is 'sgd' in its args.yaml, and was 'adam'"),
        ({"arch": "resnet18_cifar"}, "arch is 'resnet18_cifar' in its args.yaml, and was 'resnet20_cifar'"),
    ],
)
def test_settings_that_were_edited(train, run_folder, change, problem):
    settings = yaml.safe_load((run_folder / "args.yaml").read_text()) | change
    (run_folder / "args.yaml").write_text(yaml.safe_dump(settings))
    result, _ = train("--resume", run_folder)
    assert (result.code, last_line(result)) == (2, unusable(run_folder, f"{problem} when the run was broken off"))


def test_a_step_may_consist_of_smaller_batches(run_folder):
    """Where memory runs out, args.yaml is written before the next checkpoint."""
    settings = yaml.safe_load((run_folder / "args.yaml").read_text()) | {"batch_size": 12, "accumulate": 2}
    state = last_checkpoint(run_folder, ["blue", "red"], settings)
    assert (state["args"]["batch_size"], state["args"]["accumulate"]) == (24, 1)


def test_settings_that_are_gone(run_folder):
    (run_folder / "args.yaml").write_text("")
    line = f"--resume {run_folder}: its args.yaml names no data, so it is damaged: start a new run"
    assert refusal(run_folder) == line


def test_edited_results_are_those_of_the_checkpoint_again(train, run_folder):
    before = (run_folder / "results.csv").read_text()
    (run_folder / "results.csv").write_text("garbage\n" * 9)
    result, _ = train("--resume", run_folder)
    assert result.code == 0
    assert (run_folder / "results.csv").read_text() == before


def test_another_data_set(train, run_folder, colours):
    shutil.copytree(colours / "train" / "red", colours / "train" / "green")
    settings = yaml.safe_load((run_folder / "args.yaml").read_text()) | {"source": str(colours)}
    (run_folder / "args.yaml").write_text(yaml.safe_dump(settings))
    result, _ = train("--resume", run_folder)
    assert result.code == 2
    assert last_line(result) == (
        f"error: --resume {run_folder}: the data set has other classes now (blue, green, red) "
        "than the run (blue, red): start a new one"
    )


def test_another_network(train, run_folder):
    path = run_folder / "checkpoints" / "last.pth"
    torch.save(read_checkpoint(path) | {"model": {"weight": torch.zeros(1)}}, path)
    result, _ = train("--resume", run_folder)
    assert result.code == 2
    assert last_line(result) == unusable(run_folder, "the checkpoint holds the weights of another network")


def test_without_a_checkpoint_it_begins_again(train, here, run_folder):
    shutil.rmtree(run_folder / "checkpoints")
    (run_folder / "results.csv").unlink()
    result, _ = train("--resume", run_folder, "--export", "model.pkl")
    assert result.code == 0
    assert "no checkpoint yet: the run begins again\n" in result.err
    assert len((run_folder / "results.csv").read_text().splitlines()) == 1 + 2
    assert (here / "model.pkl").exists()


def test_a_run_that_stopped_early_stays_stopped(train, here, colours):
    result, folder = train(colours, "--epochs", 6, "--patience", 1, "--monitor", "loss", "--lr", "0.5", "--opt", "sgd")
    assert result.code == 0
    rows = (folder / "results.csv").read_text().splitlines()[1:]
    if len(rows) < 6:
        assert f"stopped early: no epoch since {len(rows) - 1} was better (--patience 1)\n" in result.err
    result, _ = train("--resume", folder)
    assert result.code == 0
    assert (folder / "results.csv").read_text().splitlines()[1:] == rows
