"""The list of runs: python -m pytest tests/app/test_runs.py"""

import csv
import json

import pytest

from app.runs import main

HEADER = (
    "epoch,phase,train_loss,valid_loss,accuracy,f1,train_seconds,valid_seconds,images_per_second,data_wait,warmup\n"
)


@pytest.fixture
def listed(call, tmp_path):
    return lambda *words: call(main, tmp_path, *words)


def make(folder, rows, monitor="accuracy", arch="resnet18"):
    folder.mkdir()
    (folder / "args.yaml").write_text(f"arch: {arch}\nimg_size: 64\nmonitor: {monitor}\n")
    lines = [f"{epoch},unfrozen,0.1,{loss},{accuracy},0.5,10,2.5,30,0.1,0\n" for epoch, loss, accuracy in rows]
    (folder / "results.csv").write_text(HEADER + "".join(lines))


@pytest.fixture
def three(tmp_path):
    make(tmp_path / "20260101-000000-resnet18-64", [(1, 0.5, 0.8), (2, 0.4, 0.7)])
    make(tmp_path / "20260102-030405-resnet18-64-b", [(0, 0.6, 0.9)])
    make(tmp_path / "20260103-000000-vit-64", [(1, 0.5, 0.85), (2, 0.4, 0.7)], monitor="loss", arch="vit")
    (tmp_path / "file").touch()


def test_the_best_is_first(three, listed, tmp_path):
    result = listed()
    assert (result.code, result.err) == (0, "")
    header, *lines = result.out.splitlines()
    assert header == "date                 arch      size  epochs  accuracy    loss  seconds  folder"
    assert [line.replace(f"{tmp_path}/", "") for line in lines] == [
        "2026-01-02 03:04:05  resnet18    64       0    0.9000  0.6000       12  20260102-030405-resnet18-64-b",
        "2026-01-01 00:00:00  resnet18    64       2    0.8000  0.5000       25  20260101-000000-resnet18-64",
        "2026-01-03 00:00:00  vit         64       2    0.7000  0.4000       25  20260103-000000-vit-64",
    ]


@pytest.mark.parametrize(
    ("order", "days"),
    [("date", "321"), ("loss", "312"), ("seconds", "231"), ("arch", "213"), ("accuracy", "213")],
)
def test_other_orders(three, listed, order, days):
    found = json.loads(listed("--sort", order, "--format", "json").out)  # of equals the later is first
    assert "".join(entry["date"][9] for entry in found) == days


def test_for_programs(three, listed):
    found = json.loads(listed("--format", "json").out)
    rows = list(csv.DictReader(listed("--format", "csv").out.splitlines()))
    assert [{key: str(value) for key, value in entry.items()} for entry in found] == rows
    assert (found[0]["accuracy"], found[0]["seconds"], found[0]["size"]) == (0.9, 12.5, 64)


def test_what_is_no_run_is_passed_over(three, listed, tmp_path):
    (tmp_path / "other").mkdir()
    make(tmp_path / "begun", [])
    make(tmp_path / "foreign", [(1, 0.5, 0.8)])
    (tmp_path / "foreign" / "args.yaml").write_text("just words")
    make(tmp_path / "damaged", [(1, 0.5, 0.8)])
    (tmp_path / "damaged" / "args.yaml").write_text("arch: [")
    result = listed()
    assert result.code == 0
    assert result.out.count("\n") == 4
    assert sorted(result.err.splitlines()) == [
        f"passed over: {tmp_path}/begun (no epoch has ended)",
        f"passed over: {tmp_path}/damaged (its args.yaml is damaged)",
        f"passed over: {tmp_path}/foreign (its args.yaml holds no settings)",
        f"passed over: {tmp_path}/other (it has no args.yaml)",
    ]


def test_a_folder_without_runs(listed, call, tmp_path):
    assert listed("--format", "json") == (0, "[]\n", f"no runs in {tmp_path}\n")
    said = f"error: {tmp_path}/none is no folder: give that of app.train --output\n"
    assert call(main, tmp_path / "none") == (2, "", said)


def test_a_real_run(trained, call):
    _, folder = trained
    (found,) = json.loads(call(main, folder.parent, "--format", "json").out)
    assert (found["arch"], found["size"], found["epochs"]) == ("resnet20_cifar", 32, 2)
    assert found["folder"] == str(folder)
