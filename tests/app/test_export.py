"""`app.export`: other forms of a model, which predict the same.

python -m pytest tests/app/test_export.py
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import models
from app.export import main
from app.predict import main as predict

PROJECT = Path(models.__file__).parent.parent


@pytest.fixture
def export(call, here):
    return lambda *argv: call(main, *argv)


@pytest.fixture(scope="module")
def onnx_file(call, model, colours_once, tmp_path_factory):
    """The model of the two colours as ONNX; the line that was said about it stands beside it."""
    path = tmp_path_factory.mktemp("onnx") / "model.onnx"
    result = call(main, model, "--to", "onnx", "-o", path, "--check", colours_once)
    assert (result.code, result.err) == (0, "")
    (path.parent / "said").write_text(result.out)
    return path


def test_onnx_says_how_much_it_differs(onnx_file):
    said = (onnx_file.parent / "said").read_text()
    start, end = f"{onnx_file}: greatest difference in probability ", " on 36 images\n"
    assert said.startswith(start)
    assert said.endswith(end)
    assert float(said.removeprefix(start).removesuffix(end)) <= 1e-4
    assert {path.name for path in onnx_file.parent.iterdir()} == {"model.onnx", "said"}


def test_onnx_predicts_a_hundred_images_as_the_model_does(onnx_file, model):
    rng = np.random.default_rng(0)
    shapes = rng.integers(20, 300, (100, 2))
    images = [Image.fromarray(rng.integers(0, 256, (*shape, 3), np.uint8)) for shape in shapes]
    ours, theirs = (models.load(path).probabilities(images) for path in (model, onnx_file))
    assert np.abs(ours.numpy() - theirs).max() <= 1e-4
    assert (ours.numpy().argmax(1) == theirs.argmax(1)).all()


def test_onnx_says_what_it_is(onnx_file, model):
    import onnx

    graph = onnx.load(onnx_file)
    (facts,) = (json.loads(entry.value) for entry in graph.metadata_props if entry.key == "fastsight")
    described = json.loads(model.with_suffix(".json").read_text())
    for key in ("classes", "image_size", "mean", "std", "resize", "architecture", "temperature", "metrics"):
        assert facts[key] == described[key]
    (wanted,), (given,) = graph.graph.input, graph.graph.output
    dimensions = [dim.dim_param or dim.dim_value for dim in wanted.type.tensor_type.shape.dim]
    assert (wanted.name, given.name, dimensions) == ("images", "logits", ["batch", 3, 32, 32])


SCRIPT = """
import sys
from app.predict import main
assert main(sys.argv[1:]) == 0
print(sorted({"torch", "fastai", "timm", "onnx", "pandas"} & set(sys.modules)))
"""


def test_onnx_predicts_without_torch(onnx_file, colours_once):
    words = [str(onnx_file), str(colours_once / "valid" / "red" / "0.jpg"), str(colours_once / "valid" / "blue")]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *words], cwd=PROJECT, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    first, *_, last = done.stdout.splitlines()
    assert first.startswith(f"{words[1]}: red 0.")
    assert last == "[]"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"hi", "m.onnx is not a readable ONNX file ("),
        (b"", "m.onnx is empty: export the model again"),
    ],
)
def test_a_file_that_is_no_onnx(here, call, colours_once, content, line):
    (here / "m.onnx").write_bytes(content)
    code, out, err = call(predict, "m.onnx", colours_once)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {line}")
    assert err.count("\n") == 1


def test_an_onnx_of_another_program(here, call, onnx_file, colours_once):
    import onnx

    graph = onnx.load(onnx_file)
    del graph.metadata_props[:]
    onnx.save(graph, here / "m.onnx")
    line = "m.onnx says nothing of its classes: give an ONNX file that app.export wrote"
    assert call(predict, "m.onnx", colours_once) == (2, "", f"error: {line}\n")


def test_safetensors_of_a_stock_export_becomes_its_safe_half(here, export, call, colours_once):
    from fastai.vision.all import ImageDataLoaders, Resize, resnet18, vision_learner

    loaders = ImageDataLoaders.from_folder(colours_once, valid="valid", item_tfms=Resize(40), bs=4, num_workers=0)
    vision_learner(loaders, resnet18, pretrained=False, path=here).export("stock.pkl")
    before = call(predict, "stock.pkl", colours_once, "--format", "json")
    result = export("stock.pkl", "--to", "safetensors", "-o", "stock.safetensors", "--check", colours_once)
    assert (result.code, result.err) == (0, "")
    facts = json.loads((here / "stock.json").read_text())
    assert (facts["architecture"], facts["classes"], facts["image_size"]) == ("resnet18", ["blue", "red"], 40)
    for name in ("stock.pkl", "stock.safetensors"):
        assert call(predict, name, colours_once, "--format", "json") == before
    assert set(facts["sha256"]) == {"weights", "pickle"}


def test_a_pickle_without_description_does_not_say_its_architecture(here, export, model, colours_once):
    shutil.copy(model, here / "alone.pkl")
    assert export("alone.pkl", "--to", "safetensors", "-o", "x.safetensors", "--check", colours_once) == (
        2,
        "",
        "error: alone.pkl does not say which architecture it is, as safetensors must: give --to onnx\n",
    )


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--to", "onnx", "-o", "m.pkl"], "--output m.pkl: give a name that ends in .onnx"),
        (["--to", "safetensors", "-o", "no/m.safetensors"], "--output no/m.safetensors: the folder no does not exist"),
        (["--to", "onnx", "-o", "m.onnx", "--check", "empty"], "empty: no images in this folder"),
        (["--to", "onnx", "-o", "m.onnx", "--check", "no.jpg"], "--check: none of the images could be read"),
    ],
)
def test_what_cannot_be_done_is_one_line(here, export, model, words, line):
    (here / "empty").mkdir()
    assert export(model, *words) == (2, "", f"error: {line}\n")
    assert [path.name for path in here.iterdir()] == ["empty"]


def test_files_of_the_users_are_not_replaced(here, export, model, colours_once):
    (here / "x.json").write_text('{"mine": 1}')
    line = "x.json is there already and no part of a model: choose another name"
    words = ("--to", "safetensors", "-o", "x.safetensors", "--check", colours_once)
    assert export(model, *words) == (2, "", f"error: {line}\n")
    assert (here / "x.json").read_text() == '{"mine": 1}'


def test_an_onnx_file_is_not_exported_again(here, export, onnx_file, colours_once):
    code, _, err = export(onnx_file, "--to", "safetensors", "-o", "x.safetensors", "--check", colours_once)
    assert (code, err.count("\n")) == (2, 1)
    assert "no ONNX file" in err


@pytest.mark.slow
def test_a_fine_tuned_network_as_onnx(here, export, fine_tuned, colours_once):
    result = export(fine_tuned[1] / "model.pkl", "--to", "onnx", "-o", "m.onnx", "--check", colours_once)
    assert (result.code, result.err) == (0, "")


def test_weights_of_another_program_are_not_replaced(here, export, model, colours_once):
    (here / "x.safetensors").write_text("precious")
    line = "x.safetensors is there already and no part of a model: choose another name"
    words = ("--to", "safetensors", "-o", "x.safetensors", "--check", colours_once)
    assert export(model, *words) == (2, "", f"error: {line}\n")
    assert (here / "x.safetensors").read_text() == "precious"


def test_a_pipe_is_not_waited_for(here, export, model, colours_once):
    os.mkfifo(here / "x.json")
    line = "x.json is there already and no part of a model: choose another name"
    words = ("--to", "safetensors", "-o", "x.safetensors", "--check", colours_once)
    assert export(model, *words) == (2, "", f"error: {line}\n")


def test_a_link_into_a_folder_that_is_not_there(here, export, model):
    (here / "x.onnx").symlink_to("no/x.onnx")
    line = f"--output x.onnx: the folder {here}/no does not exist"
    assert export(model, "--to", "onnx", "-o", "x.onnx") == (2, "", f"error: {line}\n")


def rewritten(onnx_file, path, **facts):
    """The ONNX file with another description."""
    import onnx

    graph = onnx.load(onnx_file)
    (entry,) = graph.metadata_props
    entry.value = json.dumps(json.loads(entry.value) | facts)
    onnx.save(graph, path)


@pytest.mark.parametrize(
    ("facts", "line"),
    [
        ({"classes": ["a", "b", "c"]}, "m.onnx answers 16 x 3 by (16, 2) values: export the model again"),
        ({"mean": ["x"] * 3}, "m.onnx has a damaged description (values out of range): export it again"),
    ],
)
def test_an_onnx_file_with_another_description(here, call, onnx_file, colours_once, facts, line):
    rewritten(onnx_file, here / "m.onnx", **facts)
    assert call(predict, "m.onnx", colours_once / "train") == (2, "", f"error: {line}\n")


def test_an_onnx_file_for_another_size(here, call, onnx_file, colours_once):
    rewritten(onnx_file, here / "m.onnx", image_size=33)
    code, out, err = call(predict, "m.onnx", colours_once)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: m.onnx cannot be run (InvalidArgument: ")


@pytest.mark.parametrize("threads", ["4,2", "many"])
def test_what_openmp_is_told_of_threads(call, onnx_file, colours_once, monkeypatch, threads):
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    assert call(predict, onnx_file, colours_once).code == 0


@pytest.mark.skipif(sys.platform != "linux", reason="names of any bytes")
def test_an_onnx_file_whose_name_is_no_text(here, call, onnx_file, colours_once):
    shutil.copy(onnx_file, here / "m\udcff.onnx")
    assert call(predict, "m\udcff.onnx", colours_once) == call(predict, onnx_file, colours_once)
