"""The safe half of a bundle: what it holds, when it is believed, and what is said of a damaged one.

python -m pytest tests/models/test_sidecar.py
"""

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from PIL import Image

import models
from models import sidecar
from models.errors import ModelError
from models.trusted import load_trusted

PROJECT = Path(models.__file__).parent.parent
ARCHS = [
    "resnet20_cifar",
    "tf_efficientnet_lite0",
    "resnet18",
    "squeezenet1_1",
    "mobilenet_v3_small",
    "vit_tiny_patch16_224",
]
SIZES = {"vit_tiny_patch16_224": 224, "squeezenet1_1": 64}


@pytest.fixture(scope="module")
def photo():
    return Image.effect_noise((90, 60), 80).convert("RGB")


@pytest.fixture(scope="module")
def bundle(build, tmp_path_factory):
    """`bundle(arch)`: a folder with model.pkl, .safetensors and .json; not to be changed."""
    made = {}

    def bundle(arch="resnet20_cifar"):
        if arch not in made:
            folder = tmp_path_factory.mktemp("bundle")
            torch.manual_seed(0)
            learn, spec = build(arch, image_size=SIZES.get(arch), classes=("ant", "bee", "Wespe ä"))
            learn.model.train()(torch.randn(4, 3, spec.image_size, spec.image_size))
            models.export(learn, spec, folder / "model.pkl", {"accuracy": 0.9})
            made[arch] = folder
        return made[arch]

    return bundle


@pytest.fixture
def copy(bundle, tmp_path):
    return shutil.copytree(bundle(), tmp_path / "copy")


@pytest.mark.parametrize("arch", ARCHS)
def test_all_three_files_predict_what_the_learner_predicts(bundle, photo, arch):
    folder = bundle(arch)
    expected = load_trusted(folder / "model.pkl").probabilities([photo, photo.rotate(90)])
    for file in ("model.pkl", "model.safetensors", "model.json"):
        found = models.load(folder / file).probabilities([photo, photo.rotate(90)])
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


def test_what_the_description_says(bundle):
    folder = bundle()
    facts = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    assert list(facts) == [
        *("format", "version", "architecture", "family", "structure", "classes", "image_size", "resize", "mean", "std"),
        *("background", "temperature", "metrics", "versions", "sha256"),
    ]
    assert (facts["format"], facts["version"], facts["architecture"]) == ("fastsight", 1, "resnet20_cifar")
    assert (facts["classes"], facts["image_size"], facts["resize"]) == (["ant", "bee", "Wespe ä"], 32, "crop")
    assert (facts["background"], facts["temperature"], facts["metrics"]) == ("white", 1.0, {"accuracy": 0.9})
    assert facts["versions"]["torch"] == torch.__version__.partition("+")[0]
    assert facts["sha256"] == {
        "weights": sidecar.sha256(folder / "model.safetensors"),
        "pickle": sidecar.sha256(folder / "model.pkl"),
    }
    assert {path.name for path in folder.iterdir()} == {"model.pkl", "model.safetensors", "model.json"}


def test_the_weights_are_float32_under_plain_names(bundle):
    weights = sidecar.load_weights(bundle("tf_efficientnet_lite0") / "model.pkl")
    assert {tensor.dtype for tensor in weights.values()} == {torch.float32, torch.int64}  # counters of batches
    assert "0.model.conv_stem.weight" in weights


def test_the_pixels_are_those_of_validation(bundle, build, tmp_path):
    """From a file to the network's input: ours, and training's loader."""
    import data

    folder = tmp_path / "photos"
    for split, count in (("train", 2), ("valid", 3)):
        for label in ("ant", "bee"):
            (folder / split / label).mkdir(parents=True)
            for index in range(count):
                photo = Image.effect_noise((140 + 60 * index, 300), 90 + index).convert("RGB")
                photo.save(folder / split / label / f"{label}{index}.jpg")
    scan = data.scan(folder)
    predictor = models.load(bundle("tf_efficientnet_lite0") / "model.json")
    spec = models.spec("tf_efficientnet_lite0", scan, image_size=predictor.image_size)
    validation = data.loaders(scan, spec, batch_size=2, workers=0).valid
    expected = torch.cat([batch for batch, _ in validation]).as_subclass(torch.Tensor)
    images = [predictor.prepare(data.read_image(sample.source, for_size=predictor.image_size)) for sample in scan.valid]
    actual = predictor.normalised(images)
    assert torch.equal(_bytes(actual, spec), _bytes(expected, spec))
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-6)  # normalised in another order


def _bytes(batch, spec):
    mean, std = (torch.tensor(values)[None, :, None, None] for values in (spec.mean, spec.std))
    return ((batch * std + mean) * 255).round().to(torch.uint8)


SCRIPT = """
import sys
from pathlib import Path
from app.predict import main
assert main(sys.argv[1:]) == 0
heavy = {"fastai", "pandas", "matplotlib", "scipy", "sklearn", "IPython", "torch._dynamo", "tensorboard"}
print(sorted(heavy & set(sys.modules)))
"""


@pytest.mark.parametrize(("arch", "described"), [("tf_efficientnet_lite0", True), ("resnet20_cifar", False)])
def test_prediction_imports_neither_fastai_nor_pandas(bundle, photo, tmp_path, arch, described):
    folder = shutil.copytree(bundle(arch), tmp_path / "copy")
    if not described:
        (folder / "model.json").unlink()
    photo.save(tmp_path / "photo.png")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder / "model.pkl"), str(tmp_path / "photo.png")],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_pickle_that_was_exchanged_is_not_the_described_one(copy, bundle, photo):
    shutil.copy(bundle("resnet18") / "model.pkl", copy / "model.pkl")
    expected = load_trusted(copy / "model.pkl").probabilities([photo])
    torch.testing.assert_close(models.load(copy / "model.pkl").probabilities([photo]), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("file", ["model.json", "model.safetensors"])
@pytest.mark.parametrize("damage", [b"", b"{}", b"[1]", b"\xff\xfe", b"[" * 100_000])
def test_a_pickle_is_loaded_without_its_damaged_description(copy, photo, file, damage):
    (copy / file).write_bytes(damage)
    assert models.load(copy / "model.pkl").classes == ["ant", "bee", "Wespe ä"]


def message_of(path, **options):
    with pytest.raises(ModelError) as raised:
        models.load(path, **options)
    return str(raised.value).replace(f"{path.parent}/", "")


def test_weights_alone(copy):
    (copy / "model.json").unlink()
    message = "model.json is missing: it belongs to the weights, keep the two together"
    assert message_of(copy / "model.safetensors") == message


def test_a_description_alone(copy):
    (copy / "model.safetensors").unlink()
    assert message_of(copy / "model.json") == "model.json: model.safetensors is missing: keep the two together"


def test_weights_that_were_exchanged(copy, bundle):
    shutil.copy(bundle("resnet18") / "model.safetensors", copy / "model.safetensors")
    assert message_of(copy / "model.json") == (
        "model.safetensors is not the file that model.json describes: export the model again"
    )


def change(folder, **facts):
    path = folder / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | facts))


OTHER_VERSION = "this program knows 1: export the model again, or take the fastsight that wrote it"


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"format": "other"}, "describes no model of ours: give the model.json that app.train wrote"),
        ({"version": 2}, f"has version 2 of the format, {OTHER_VERSION}"),
        ({"version": True}, f"has version True of the format, {OTHER_VERSION}"),
        ({"version": [1] * 9}, f"has version [1, 1, 1, 1, 1, 1, ...] of the format, {OTHER_VERSION}"),
        ({"classes": None}, "is damaged (classes): export the model again"),
        ({"mean": [0, 0], "std": [1, 1]}, "is damaged (values out of range): export the model again"),
        ({"image_size": 10**9}, "is damaged (values out of range): export the model again"),
        ({"image_size": 4097}, "is damaged (values out of range): export the model again"),
        ({"resize": "stretch"}, "is damaged (values out of range): export the model again"),
        ({"image_size": True}, "is damaged (values out of range): export the model again"),
        ({"mean": [math.nan] * 3}, "is damaged (values out of range): export the model again"),
        ({"mean": [10**400] * 3}, "is damaged (values out of range): export the model again"),
        ({"mean": [True] * 3}, "is damaged (values out of range): export the model again"),
        ({"std": [math.inf] * 3}, "is damaged (values out of range): export the model again"),
        ({"std": [-0.2] * 3}, "is damaged (values out of range): export the model again"),
        ({"temperature": 1e300}, "is damaged (values out of range): export the model again"),
        ({"padding": ["zeros"]}, "is damaged (values out of range): export the model again"),
        ({"classes": ["a", "a", "b"]}, "is damaged (values out of range): export the model again"),
        ({"structure": {}}, "its description is damaged: export the model again"),
        ({"architecture": "resnet1_cifar"}, "needs the architecture 'resnet1_cifar', which this version does not have"),
    ],
)
def test_a_damaged_description(copy, facts, message):
    change(copy, **facts)
    assert message_of(copy / "model.json") == f"model.json {message}"


@pytest.mark.parametrize("name", ["hf-hub:timm/resnet18", "someone/resnet18", "hf_hub:x", "local-dir:../x"])
def test_no_name_leads_to_a_hub(copy, name):
    change(copy, architecture=name, family="timm", structure={"kind": "classifier"})
    message = message_of(copy / "model.json")
    assert message.startswith(f"model.json needs the architecture {name!r}, which timm ")


def test_weights_of_another_shape(copy):
    change(copy, classes=["a", "b"])
    message = message_of(copy / "model.json")
    assert message.startswith("model.json cannot be put together (Error(s) in loading state_dict for Sequential: size")
    assert message.endswith("): export it again")


def test_a_module_is_only_imported_when_it_is_trusted(copy, tmp_path, monkeypatch):
    (tmp_path / "touching.py").write_text(f"open({str(tmp_path / 'touched')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    change(copy, architecture="touching:build", family="own", structure={"kind": "whole"})
    message = "model.json runs the code of touching:build: give --trust if you trust it"
    assert message_of(copy / "model.json") == message
    assert not (tmp_path / "touched").exists()


def test_a_head_that_would_take_all_memory(copy):
    layer = {"layer": "BatchNorm1d", "num_features": 3 * 10**8, "eps": 1e-5, "momentum": 0.1}
    head = layer | {"affine": True, "track_running_stats": True}
    change(copy, architecture="resnet18", family="torchvision", structure={"kind": "body", "children": 8, "head": head})
    message = "model.json its description has an impossible BatchNorm1d: export the model again"
    assert message_of(copy / "model.json") == message


def test_a_network_of_ones_own_that_ends_the_program(copy):
    change(copy, architecture="sys:exit", family="own", structure={"kind": "whole"})
    message = "model.json cannot be put together: sys:exit ended the program"
    assert message_of(copy / "model.json", trust=True) == message


def test_a_callable_that_makes_no_network(copy):
    change(copy, architecture="builtins:range", family="own", structure={"kind": "whole"})
    message = "model.json cannot be put together: builtins:range made a range, no network"
    assert message_of(copy / "model.json", trust=True) == message


def test_weights_that_are_no_safetensors_are_named_once(copy):
    (copy / "model.safetensors").write_bytes(b"junk" * 9)
    change(copy, sha256={"weights": sidecar.sha256(copy / "model.safetensors")})
    assert message_of(copy / "model.json").startswith("model.safetensors is damaged (")


def test_a_pipe_is_no_model(tmp_path):
    os.mkfifo(tmp_path / "model.pkl")
    assert message_of(tmp_path / "model.pkl") == "model.pkl: is no regular file, give an exported model.pkl"


@pytest.mark.skipif(sys.platform != "linux", reason="names of any bytes")
def test_a_name_of_any_bytes(copy, photo):
    for file in [*copy.iterdir()]:
        file.rename(copy / f"b\udcff{file.suffix}")
    found = models.load(copy / "b\udcff.safetensors").probabilities([photo])
    torch.testing.assert_close(found, models.load(copy / "b\udcff.pkl").probabilities([photo]))


def test_all_files_may_be_read_by_the_same_people(bundle):
    assert len({path.stat().st_mode for path in bundle().iterdir()}) == 1


@pytest.mark.parametrize("file", ["model.json", "model.safetensors"])
def test_what_only_others_may_read(copy, file):
    (copy / file).chmod(0)
    if os.access(copy / file, os.R_OK):
        pytest.skip("root reads all")
    assert models.load(copy / "model.pkl").classes == ["ant", "bee", "Wespe ä"]
    with pytest.raises((ModelError, PermissionError), match="Permission denied"):
        models.load(copy / file)


def test_a_disk_without_room(tmp_path):
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10**6, before[1]))
    try:
        with pytest.raises(OSError, match="File too large") as raised:
            sidecar.write(tmp_path / "model.safetensors", {}, {"weight": torch.zeros(10**6)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert raised.value.filename == str(tmp_path / "model.safetensors")
    assert not list(tmp_path.iterdir())
