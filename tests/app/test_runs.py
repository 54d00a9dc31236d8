"""The list of runs: python -m pytest tests/app/test_runs.py"""

import csv
import json
from itertools import pairwise

import pytest

from app.runs import main

HEADER = (
    "epoch,phase,train_loss,valid_loss,accuracy,f1,train_seconds,valid_seconds,images_per_second,data_wait,warmup\n"
)


@pytest.fixture
def listed(call, tmp_path):
    return lambda *words: call(main, tmp_path, *words)


def make(folder, rows, monitor="accuracy", arch="resnet18"):
    folder.mkdir(parents=True)
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
    line = f"no runs in {tmp_path}: give the folder of app.train --output\n"
    assert listed("--format", "json") == (0, "[]\n", line)
    (tmp_path / "photos" / "cat").mkdir(parents=True)
    assert listed("--format", "json") == (0, "[]\n", line)
    said = f"error: {tmp_path}/none is no folder: give that of app.train --output\n"
    assert call(main, tmp_path / "none") == (2, "", said)


def test_the_folder_above_and_the_one_below(call, tmp_path):
    """What to give instead is said."""
    make(tmp_path / "project" / "runs" / "one", [(1, 0.5, 0.8)])
    (tmp_path / "project" / "photos").mkdir()
    runs = tmp_path / "project" / "runs"
    assert call(main, runs.parent, "--format", "csv").err == f"no runs in {runs.parent}: give {runs}\n"
    said = f"error: {runs}/one is one run: give the folder that holds it, {runs}\n"
    assert call(main, runs / "one") == (2, "", said)
    assert call(main, runs).code == 0


def test_no_run_has_ended(listed, tmp_path):
    make(tmp_path / "begun", [])
    assert listed().err.splitlines() == [
        f"passed over: {tmp_path}/begun (no epoch has ended)",
        f"no finished runs in {tmp_path}",
    ]


BOMB = "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}, *{a}]\n" for a, b in pairwise("abcdefghijklmnopqrstuvwxyz"))
FIRST, SECOND = (HEADER + "1,probe,0.1,0.2,0.9,0.5,10,2.5,30,0.1,0\n").splitlines(keepends=True)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("args.yaml", b"\xff\x00\x01"),
        ("args.yaml", b"["),
        ("args.yaml", b"[" * 3000),
        ("args.yaml", b"arch: resnet18\n"),
        ("args.yaml", b"arch: resnet18\nimg_size: .inf\n"),
        ("args.yaml", b"arch: resnet18\nimg_size: 2026-13-45\n"),
        ("args.yaml", b"arch: resnet18\nimg_size: 64\nmonitor: luck\n"),
        ("args.yaml", b"arch: resnet18\nimg_size: 64\nmonitor: [f1]\n"),
        ("args.yaml", f"{BOMB}arch: *z\nimg_size: 64\n".encode()),
        ("results.csv", b"\xff\x00\x01"),
        ("results.csv", b"\x89PNG\r\n\x1a\n" + bytes(range(256))),
        ("results.csv", b"epoch,accuracy\n1,0.5\n"),
        ("results.csv", (FIRST + "1,probe,0.1\n").encode()),
        ("results.csv", (FIRST + SECOND.replace("0.9", "high")).encode()),
        ("results.csv", (FIRST + SECOND.replace("1,", "inf,", 1)).encode()),
        ("results.csv", (FIRST + SECOND.replace("0.9", "9" * 200_000)).encode()),
    ],
)
def test_rubbish_is_named_and_passed_over(listed, tmp_path, name, content):
    make(tmp_path / "good", [(1, 0.5, 0.8)])
    make(tmp_path / "bad", [(1, 0.5, 0.8)])
    (tmp_path / "bad" / name).write_bytes(content)
    result = listed("--format", "json")
    assert (result.code, result.err) == (0, f"passed over: {tmp_path}/bad (its {name} is damaged)\n")
    assert [run["folder"] for run in json.loads(result.out)] == [f"{tmp_path}/good"]


def test_a_name_with_a_line_break_is_one_line(listed, tmp_path):
    make(tmp_path / "good", [(1, 0.5, 0.8)])
    (tmp_path / "other\nname").mkdir()
    assert listed().err == f"passed over: {tmp_path}/other\\nname (it has no args.yaml)\n"


def test_more_cells_than_columns_do_no_harm(listed, tmp_path):
    make(tmp_path / "good", [(1, 0.5, 0.8)])
    (tmp_path / "good" / "results.csv").write_text(FIRST + SECOND.strip() + ",1,2,3\n")
    (found,) = json.loads(listed("--format", "json").out)
    assert (found["accuracy"], found["loss"]) == (0.9, 0.2)


def test_a_real_run(trained, call):
    _, folder = trained
    (found,) = json.loads(call(main, folder.parent, "--format", "json").out)
    assert (found["arch"], found["size"], found["epochs"]) == ("resnet20_cifar", 32, 2)
    assert found["folder"] == str(folder)
