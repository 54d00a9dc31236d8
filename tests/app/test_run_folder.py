"""Where a run writes: a new folder each time, outside the data set.

python -m pytest tests/app/test_run_folder.py
"""

import json
import os
import re
from importlib.metadata import version
from pathlib import Path

import pytest

from app.errors import UsageError
from app.run_folder import check_outputs, new_run_folder, versions, write_environment

needs_a_plain_user = pytest.mark.skipif(
    hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write everywhere"
)


def refusal(source, output="runs", export="model.pkl"):
    with pytest.raises(UsageError) as raised:
        check_outputs(str(source), Path(output), Path(export))
    return str(raised.value)


def test_runs_that_start_together_do_not_share_a_folder(tmp_path):
    folders = [new_run_folder(tmp_path / "runs", "resnet18", 224, None) for _ in range(5)]
    assert len(set(folders)) == 5
    assert all(re.fullmatch(r"\d{8}-\d{6}-resnet18-224(-\d)?", folder.name) for folder in folders)
    assert all(folder.is_dir() for folder in folders)


@pytest.mark.parametrize(
    ("arch", "name", "tail"),
    [
        ("resnet18.a1_in1k", "first try", "-resnet18.a1_in1k-32-first-try"),
        ("nets.small:build", "../../up", "-nets.small-build-32-..-..-up"),
        ("resnet18", "/", "-resnet18-32-run"),
        ("resnet18", "Größe 3", "-resnet18-32-Größe-3"),
    ],
)
def test_a_name_never_leaves_the_output_folder(tmp_path, arch, name, tail):
    folder = new_run_folder(tmp_path, arch, 32, name)
    assert folder.parent == tmp_path
    assert folder.name.endswith(tail)


@pytest.mark.parametrize("inside", ["photos/runs", "photos/train/../deep/er", "link/runs"])
def test_an_output_inside_the_data_set_is_refused(tmp_path, monkeypatch, inside):
    monkeypatch.chdir(tmp_path)
    Path("photos").mkdir()
    Path("link").symlink_to("photos")
    assert refusal("photos", output=inside) == (
        f"--output {inside} lies inside the data set photos: nothing is written there, choose another"
    )
    assert refusal("photos", export=f"{inside}/m.pkl") == (
        f"--export {inside}/m.pkl lies inside the data set photos: nothing is written there, choose another"
    )


def test_standing_in_the_data_set_is_refused_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert refusal(".") == "--output runs lies inside the data set .: nothing is written there, choose another"


def test_beside_the_data_set_is_fine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("photos").mkdir()
    check_outputs("photos", Path("photos-runs"), Path("new/folder/model.pkl"))
    check_outputs("cifar10", Path("cifar10"), Path("model.pkl"))
    assert sorted(os.listdir()) == ["photos"]


def test_an_export_that_is_a_folder(tmp_path):
    assert refusal("photos", export=tmp_path) == (
        f"--export {tmp_path} is a folder: give a file name such as {tmp_path}/model.pkl"
    )


def test_an_output_that_tensorboard_cannot_write_to(tmp_path):
    output = tmp_path / os.fsdecode(b"\xff") / "runs"
    assert refusal("photos", output=output) == (
        f"--output {tmp_path}/\udcff/runs is not valid UTF-8, which TensorBoard cannot write to: choose another"
    )


def test_an_output_that_is_a_file(tmp_path):
    file = tmp_path / "runs"
    file.touch()
    assert refusal("photos", output=file) == f"--output {file} is a file: give a folder"
    assert refusal("photos", output=file / "deeper") == f"--output: {file} cannot be written: choose another place"
    assert refusal("photos", export=file / "m.pkl") == f"--export: {file} cannot be written: choose another place"


@needs_a_plain_user
def test_an_output_that_cannot_be_written(tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    assert refusal("photos", output=locked / "runs") == f"--output: {locked} cannot be written: choose another place"
    assert refusal("photos", export=locked / "m.pkl") == f"--export: {locked} cannot be written: choose another place"


def test_the_environment_says_what_ran_where_and_why(tmp_path):
    write_environment(tmp_path, "cpu", "as asked")
    found = json.loads((tmp_path / "environment.json").read_text())
    assert (found["device"], found["device_reason"]) == ("cpu", "as asked")
    assert found["versions"] == versions()
    assert found["versions"]["torch"] == version("torch")


@pytest.mark.parametrize("suffix", [".json", ".safetensors"])
def test_files_beside_the_export_that_are_no_part_of_a_model(tmp_path, suffix):
    file = (tmp_path / "model.pkl").with_suffix(suffix)
    file.write_bytes(b'{"mine": 1}' + bytes(100))
    assert refusal("photos", export=tmp_path / "model.pkl") == (
        f"--export {tmp_path}/model.pkl: {file} is there already and no part of a model: choose another name"
    )


@pytest.mark.parametrize("suffix", [".json", ".safetensors", ".onnx"])
def test_an_export_with_the_name_of_another_form(tmp_path, suffix):
    assert refusal("photos", export=tmp_path / f"m{suffix}") == (
        f"--export {tmp_path}/m{suffix} is written beside a .pkl of that name: give {tmp_path}/m.pkl"
    )


def test_an_earlier_bundle_may_be_replaced(trained, tmp_path):
    model = trained[1] / "model.pkl"
    check_outputs("photos", tmp_path / "runs", model)
