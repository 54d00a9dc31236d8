"""`app.predict`: images in, results out, and nothing else on standard output.

python -m pytest tests/app/test_predict.py
"""

import csv
import io
import json
import os
import shutil
import subprocess
import sys

import pytest
import torch
from PIL import Image

from app.predict import main

ORIENTATION = 0x0112  # the EXIF tag


@pytest.fixture
def predict(here, call, model):
    def predict(*argv):
        return call(main, model, *argv)

    return predict


@pytest.fixture
def photos(here, colours_once):
    """Two photos where the user stands: photos/blue.jpg and photos/deep/red.jpg."""
    (here / "photos" / "deep").mkdir(parents=True)
    shutil.copy(colours_once / "valid" / "blue" / "0.jpg", here / "photos" / "blue.jpg")
    shutil.copy(colours_once / "valid" / "red" / "0.jpg", here / "photos" / "deep" / "red.jpg")
    return here / "photos"


def stdin(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def records(result):
    assert (result.code, result.err) == (0, "")
    return json.loads(result.out)


def test_json_is_a_list_of_records(photos, predict):
    (found,) = records(predict("photos/blue.jpg", "--format", "json"))
    assert list(found) == ["file", "class", "probability", "topk"]
    assert (found["file"], found["class"]) == ("photos/blue.jpg", "blue")
    assert [top["class"] for top in found["topk"]] == ["blue", "red"]
    assert found["probability"] == found["topk"][0]["probability"] > 0.5
    assert sum(top["probability"] for top in found["topk"]) == pytest.approx(1, abs=2e-6)


def test_table_is_the_default(photos, predict):
    code, out, err = predict("photos/blue.jpg")
    assert (code, err) == (0, "")
    assert out.startswith("photos/blue.jpg: blue ")
    assert ", red " in out


@pytest.mark.parametrize("form", ["table", "json", "jsonl", "csv"])
def test_standard_output_holds_results_only(photos, predict, form):
    code, out, err = predict("photos", "--format", form)
    assert (code, err) == (0, "")
    assert "\r" not in out.replace("\r\n", "\n")
    assert not {"%", "|", "\x1b"} & set(out)


def test_csv_and_topk(photos, predict):
    code, out, _ = predict("photos", "--format", "csv", "--topk", 1)
    rows = list(csv.reader(io.StringIO(out)))
    assert code == 0
    assert rows[0] == ["file", "class", "probability"]
    assert [row[:2] for row in rows[1:]] == [["photos/blue.jpg", "blue"], ["photos/deep/red.jpg", "red"]]


@pytest.mark.parametrize("words", [["photos"], ["photos/*.jpg", "photos/deep/red.jpg"], ["photos/**/*.jpg"]])
@pytest.mark.parametrize("batch_size", [1, 64])
def test_folders_and_globs(photos, predict, words, batch_size):
    found = records(predict(*words, "--format", "json", "--batch-size", batch_size))
    assert [(item["file"], item["class"]) for item in found] == [
        ("photos/blue.jpg", "blue"),
        ("photos/deep/red.jpg", "red"),
    ]


def test_the_batch_does_not_change_the_result(photos, predict):
    one, many = (records(predict("photos", "--format", "json", "-b", size)) for size in (1, 2))
    for single, batched in zip(one, many):
        assert single["probability"] == pytest.approx(batched["probability"], abs=1e-5)


def test_bytes_of_standard_input(photos, predict, monkeypatch):
    stdin(monkeypatch, (photos / "deep" / "red.jpg").read_bytes())
    (found,) = records(predict("-", "--format", "json"))
    assert (found["file"], found["class"]) == ("-", "red")


def test_bytes_that_are_no_image(predict, monkeypatch):
    stdin(monkeypatch, b"<html>")
    assert predict("-", "--format", "json") == (
        1,
        "[]\n",
        "error: image bytes: not an image of a supported format\n1 of 1 images could not be read\n",
    )


def test_a_list_of_paths_on_standard_input(photos, predict, monkeypatch):
    stdin(monkeypatch, b"photos/deep/red.jpg\nphotos/blue.jpg\n")
    found = records(predict("-", "--list", "--format", "json"))
    assert [item["class"] for item in found] == ["red", "blue"]


def test_output_goes_to_a_file(photos, predict, here):
    assert predict("photos", "--format", "json", "-o", "out.json") == (0, "", "")
    assert len(json.loads((here / "out.json").read_text())) == 2


@pytest.mark.parametrize("form", ["json", "jsonl", "csv", "table"])
def test_an_unreadable_image_is_said_and_the_others_are_predicted(photos, predict, form):
    (photos / "cut.jpg").write_bytes((photos / "blue.jpg").read_bytes()[:200])
    (photos / "empty.jpg").touch()
    code, out, err = predict("photos", "missing.jpg", "--format", form, "-b", 1)
    first, second, third, count = err.splitlines()
    assert code == 1
    assert first.startswith("error: photos/cut.jpg: damaged (")
    assert second == "error: photos/empty.jpg: empty file"
    assert third == "error: missing.jpg: no such file"
    assert count == "3 of 5 images could not be read"
    assert out.count("photos/") == 2
    assert not any(name in out for name in ("cut", "empty", "missing"))


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["photos/*.gif"], "photos/*.gif: no file matches"),
        (["empty"], "empty: no images in this folder"),
        (["photos", "-o", "nosuch/out.json"], "--output nosuch/out.json: the folder nosuch does not exist"),
        (["photos", "-o", "empty"], "--output empty is a folder: give a file name"),
        (["photos", "--topk", "0"], "argument --topk: 0 is not above zero (see python -m app.predict --help)"),
        (["photos", "--list"], "--list goes with - alone: the paths come on standard input"),
    ],
)
def test_what_cannot_be_done_is_one_line(photos, here, predict, words, line):
    (here / "empty").mkdir()
    assert predict(*words) == (2, "", f"error: {line}\n")


@pytest.mark.parametrize(
    ("content", "line"), [(b"", "is empty: export the model again"), (b"hi", "is not an exported")]
)
def test_a_model_that_is_none(here, call, photos, content, line):
    (here / "model.pkl").write_bytes(content)
    code, out, err = call(main, "model.pkl", "photos")
    assert (code, out) == (2, "")
    assert err.startswith(f"error: model.pkl {line}")
    assert err.count("\n") == 1


def test_a_tagged_copy_and_a_rotated_copy_predict_the_same(here, predict, colours_once):
    upright = Image.open(colours_once / "valid" / "red" / "0.jpg").crop((0, 0, 48, 30))
    upright.paste((0, 0, 255), (0, 0, 30, 30))  # not the same when it lies on its side
    upright.save("upright.png")
    exif = Image.Exif()
    exif[ORIENTATION] = 6  # stored a quarter turn to the left
    sideways = upright.transpose(Image.Transpose.ROTATE_90)
    sideways.save("tagged.png", exif=exif)
    sideways.save("sideways.png")
    found = records(predict("upright.png", "tagged.png", "sideways.png", "--format", "json"))
    upright, tagged, untagged = (item["topk"] for item in found)
    assert tagged == upright
    assert untagged != upright


def test_other_names_of_the_model_are_possible(photos, call, here, model):
    shutil.copy(model, here / "two colours.bin")
    assert call(main, "two colours.bin", "photos").code == 0


@pytest.mark.parametrize("output", ["photos/blue.jpg", "model.pkl"])
def test_what_was_read_is_not_written(output, photos, here, call, model):
    shutil.copy(model, here / "model.pkl")
    before = (here / output).read_bytes()
    result = call(main, "model.pkl", "photos", "-o", output)
    assert (result.code, result.err) == (
        2,
        f"error: --output {output} is read by this command: choose another name\n",
    )
    assert (here / output).read_bytes() == before


def test_names_that_are_no_unicode_are_predicted_too(photos, here, predict, monkeypatch):
    name = os.fsdecode(b"caf\xe9.png")
    shutil.copy(photos / "blue.jpg", here / name)
    stdin(monkeypatch, os.fsencode(name) + b"\r\n\n")
    result = predict("-", "--list", "--format", "json", "-o", "out.json")
    assert (result.code, result.err) == (0, "")
    assert [found["file"] for found in json.loads((here / "out.json").read_text())] == [name]


def test_names_that_are_no_unicode_are_written_to_standard_output_too(photos, here, model):
    name = os.fsdecode(b"caf\xe9.png")
    shutil.copy(photos / "blue.jpg", here / name)
    command = [sys.executable, "-m", "app.predict", model, name, "--format", "jsonl"]
    done = subprocess.run(command, cwd=here, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["file"] == name


@pytest.mark.parametrize("suffix", [".safetensors", ".json"])
def test_the_other_halves_of_a_bundle_predict_the_same(photos, call, model, suffix):
    by_pickle, other = (call(main, path, "photos", "--format", "json") for path in (model, model.with_suffix(suffix)))
    assert by_pickle == other
    assert by_pickle.code == 0


OWN = """
from torch import nn
open("imported", "a").close()
def build(classes):
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, classes))
"""


def test_a_network_of_ones_own_needs_trust(photos, here, call, colours, monkeypatch):
    from app.train import main as train

    (here / "own.py").write_text(OWN)
    assert call(train, colours, "--arch", "own:build", "--epochs", 1, "--img-size", 16).code == 0
    monkeypatch.delitem(sys.modules, "own")
    (here / "imported").unlink()
    assert call(main, "model.pkl", "photos") == (
        2,
        "",
        "error: model.pkl runs the code of own:build: give --trust if you trust it\n",
    )
    assert not (here / "imported").exists()
    assert call(main, "model.pkl", "photos", "--trust").code == 0


def test_a_hostile_pickle_is_named_and_not_run(photos, here, call):
    class Touch:
        def __reduce__(self):
            return os.system, ("touch marker",)

    torch.save(Touch(), here / "model.pkl")
    code, out, err = call(main, "model.pkl", "photos")
    assert (code, out) == (2, "")
    assert err == (
        f"error: model.pkl refused, it asks for {os.system.__module__}.system, which no exported model needs: "
        "if you trust whoever made it, --trust loads it as fastai does\n"
    )
    assert not (here / "marker").exists()


def test_many_images_keep_their_order(photos, here, predict):
    for index in range(70):
        shutil.copy(photos / ("blue.jpg" if index % 3 else "deep/red.jpg"), here / f"{index:02d}.jpg")
    (here / "35.jpg").write_bytes(b"")
    code, out, err = predict("*.jpg", "--format", "jsonl", "--topk", 1)
    found = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (1, "error: 35.jpg: empty file\n1 of 70 images could not be read\n")
    expected = [(f"{i:02d}.jpg", "blue" if i % 3 else "red") for i in range(70) if i != 35]
    assert [(item["file"], item["class"]) for item in found] == expected
