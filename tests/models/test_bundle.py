"""The exported model: stock fastai loads it anywhere, it holds nothing of ours, and bad files get one line.

python -m pytest tests/models/test_bundle.py
"""

import json
import os
import pickletools
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import torch
from PIL import Image

import models
from models.errors import ModelError
from models.trusted import load_trusted

PROJECT = Path(models.__file__).parent.parent
ARCHS = {"resnet20_cifar": False, "tf_efficientnet_lite0": True, "resnet18": False}
THIRD_PARTY = {"torch", "torchvision", "timm", "fastai", "fastcore", "fasttransform", "PIL", "numpy", "plum"}
STANDARD = sys.stdlib_module_names | {"__builtin__"}  # what pickle protocol 2 calls builtins
NEEDS_IT = "give the model.pkl that app.train wrote"

# What a stranger does: stock fastai, another folder, and this project nowhere on the path.
STOCK = """
import importlib.util, json, sys
from pathlib import Path
sys.path[:] = [entry for entry in sys.path if not Path(entry, "app", "predict.py").exists()]
for name in ("app", "models", "callbacks"):
    assert importlib.util.find_spec(name) is None, name
import torch
from fastai.learner import load_learner
torch.set_num_threads(1)
for model in sys.argv[1:]:
    folder = Path(model).parent
    learn = load_learner(model)
    learn.model.eval()
    with torch.no_grad():
        probabilities = learn.model(torch.load(folder / "images.pt")).softmax(1)
    torch.save(probabilities, folder / "probabilities.pt")
    label, index, row = learn.predict(folder / "photo.png")
    (folder / "stock.json").write_text(json.dumps([label, list(learn.dls.vocab), row.tolist(), len(learn.cbs)]))
"""


@pytest.fixture(scope="module")
def exported(build, tmp_path_factory):
    """Of each architecture: its Learner, and a folder with model.pkl, images.pt and a photo."""
    made = {}
    torch.manual_seed(0)
    for arch, pretrained in ARCHS.items():
        folder = tmp_path_factory.mktemp(arch)
        learn, spec = build(arch, pretrained=pretrained, classes=("ant", "bee", "two words"))
        images = torch.randn(8, 3, 32, 32)
        learn.model.train()(images)  # batch statistics that are not those of a fresh network
        models.export(learn, spec, folder / "model.pkl")
        torch.save(images, folder / "images.pt")
        Image.effect_noise((50, 40), 80).convert("RGB").save(folder / "photo.png")
        made[arch] = learn, folder
    return made


@pytest.fixture(scope="module")
def stock(exported, tmp_path_factory):
    """What stock fastai makes of the exported models, in another folder and interpreter."""
    where = tmp_path_factory.mktemp("elsewhere")
    (where / "stock.py").write_text(STOCK)
    paths = [str(folder / "model.pkl") for _, folder in exported.values()]
    done = subprocess.run([sys.executable, "stock.py", *paths], cwd=where, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in where.iterdir()] == ["stock.py"]
    return exported


every_arch = pytest.mark.parametrize("arch", ARCHS)


@every_arch
def test_stock_fastai_gives_the_same_probabilities(stock, arch):
    learn, folder = stock[arch]
    learn.model.eval()
    with torch.no_grad():
        expected = learn.model(torch.load(folder / "images.pt")).softmax(1)
    torch.testing.assert_close(torch.load(folder / "probabilities.pt"), expected, atol=1e-6, rtol=0)


@every_arch
def test_stock_fastai_reads_and_normalises_a_photo_as_we_do(stock, arch):
    _, folder = stock[arch]
    predictor = models.load(folder / "model.pkl")
    label, vocab, row, _ = json.loads((folder / "stock.json").read_text())
    ours = predictor.probabilities([Image.open(folder / "photo.png")])
    assert predictor.classes == vocab == ["ant", "bee", "two words"]
    torch.testing.assert_close(torch.tensor([row]), ours, atol=1e-6, rtol=0)
    assert label == vocab[ours.argmax().item()]


@every_arch
def test_no_callback_of_ours_and_no_data_travel(exported, arch):
    learn = load_trusted(exported[arch][1] / "model.pkl").learn
    assert all(type(callback).__module__.startswith("fastai.") for callback in learn.cbs)
    assert len(learn.dls.train_ds) == len(learn.dls.valid_ds) == 0


def operations(path):
    with zipfile.ZipFile(path) as archive:
        (entry,) = (name for name in archive.namelist() if name.endswith("data.pkl"))
        return list(pickletools.genops(archive.read(entry)))


@every_arch
def test_it_names_only_public_packages(exported, arch):
    found = operations(exported[arch][1] / "model.pkl")
    assert not any(opcode.name == "STACK_GLOBAL" for opcode, _, _ in found)
    packages = {
        argument.partition(" ")[0].partition(".")[0] for opcode, argument, _ in found if opcode.name == "GLOBAL"
    }
    assert packages <= THIRD_PARTY | STANDARD


@every_arch
def test_it_holds_no_path(exported, arch):
    _, folder = exported[arch]
    texts = [argument for _, argument, _ in operations(folder / "model.pkl") if isinstance(argument, str)]
    assert not [text for text in texts if text.startswith("/") or "PosixPath" in text or "WindowsPath" in text]
    content = (folder / "model.pkl").read_bytes()
    for place in (PROJECT, folder, Path.cwd(), Path(sys.prefix), Path.home()):
        assert len(place.parts) == 1 or os.fsencode(place) not in content


def test_batches_of_any_size_and_none(exported):
    predictor = models.load(exported["resnet20_cifar"][1] / "model.pkl")
    photos = [Image.effect_noise((size, 40), 80).convert("RGB") for size in (30, 40, 50)]
    together = predictor.probabilities(photos)
    one_by_one = torch.cat([predictor.probabilities([photo]) for photo in photos])
    torch.testing.assert_close(together, one_by_one, atol=1e-5, rtol=0)
    torch.testing.assert_close(together.sum(1), torch.ones(3))


def test_the_size_it_resizes_to_is_known(exported):
    file = exported["resnet20_cifar"][1] / "model.pkl"
    image = Image.new("RGB", (90, 50))
    (batch,) = next(iter(load_trusted(file).learn.dls.test_dl([image])))
    assert models.load(file).image_size == load_trusted(file).image_size == batch.shape[-1]


def test_the_learner_can_be_trained_on_after_its_export(build, tmp_path):
    learn, spec = build("resnet20_cifar")
    before = {name: tensor.clone() for name, tensor in learn.model.state_dict().items()}
    models.export(learn, spec, tmp_path / "model.pkl")
    assert learn.model.training
    assert all(torch.equal(tensor, before[name]) for name, tensor in learn.model.state_dict().items())
    assert len(learn.dls.train_ds) == 4


def test_a_failed_export_leaves_the_earlier_file(build, tmp_path):
    learn, spec = build("resnet20_cifar")
    file = tmp_path / "model.pkl"
    file.write_bytes(b"earlier")
    learn.model.broken = lambda: None
    with pytest.raises(Exception, match="lambda"):
        models.export(learn, spec, file)
    assert file.read_bytes() == b"earlier"
    assert [path.name for path in tmp_path.iterdir()] == ["model.pkl"]


def message_of(path, **options):
    with pytest.raises(ModelError) as raised:
        models.load(path, **options)
    return str(raised.value).replace(f"{path.parent}/", "")


def test_a_missing_file(tmp_path):
    assert message_of(tmp_path / "m.pkl") == "m.pkl: no such file, give an exported model.pkl"


def test_a_folder(tmp_path):
    (tmp_path / "m.pkl").mkdir()
    assert message_of(tmp_path / "m.pkl") == "m.pkl: is a folder, give an exported model.pkl"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "m.pkl is empty: export the model again"),
        (b"hi\n", f"m.pkl is not an exported model: {NEEDS_IT}"),
        (b"\x80\x04N.", f"m.pkl is not an exported model: {NEEDS_IT}"),
        (b"PK\x03\x04", "m.pkl is incomplete, its end is missing: copy or export it again"),
    ],
)
def test_bytes_that_are_no_model(tmp_path, content, message):
    (tmp_path / "m.pkl").write_bytes(content)
    assert message_of(tmp_path / "m.pkl") == message


def test_half_a_file(exported, tmp_path):
    content = (exported["resnet20_cifar"][1] / "model.pkl").read_bytes()
    (tmp_path / "m.pkl").write_bytes(content[: len(content) // 2])
    assert message_of(tmp_path / "m.pkl") == "m.pkl is incomplete, its end is missing: copy or export it again"


def test_bare_weights(exported, tmp_path):
    learn, _ = exported["resnet20_cifar"]
    torch.save(learn.model.state_dict(), tmp_path / "m.pkl")
    assert message_of(tmp_path / "m.pkl") == f"m.pkl holds no Learner but OrderedDict: {NEEDS_IT}"


def test_a_bare_network(tmp_path):
    torch.save(torch.nn.Linear(2, 2), tmp_path / "m.pkl")
    assert message_of(tmp_path / "m.pkl") == f"m.pkl holds no Learner but Linear: {NEEDS_IT}"


def test_a_zip_of_something_else(tmp_path):
    with zipfile.ZipFile(tmp_path / "m.pkl", "w") as archive:
        archive.writestr("notes.txt", "hi")
    assert message_of(tmp_path / "m.pkl") == f"m.pkl is not an exported model: {NEEDS_IT}"


def test_a_file_with_a_damaged_middle(exported, tmp_path):
    content = bytearray((exported["resnet20_cifar"][1] / "model.pkl").read_bytes())
    content[200:400] = bytes(200)
    (tmp_path / "m.pkl").write_bytes(content)
    assert message_of(tmp_path / "m.pkl") == "m.pkl is damaged (in model/data.pkl): copy or export it again"


def test_a_network_of_a_module_that_is_not_here(build, tmp_path, monkeypatch):
    (tmp_path / "gone_net.py").write_text(
        "from torch import nn\n\n\nclass Net(nn.Sequential):\n    pass\n\n\n"
        "def build(classes):\n    return Net(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, classes))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    learn, spec = build("gone_net:build")
    models.export(learn, spec, tmp_path / "m.pkl")
    assert load_trusted(tmp_path / "m.pkl").classes == ["ant", "bee", "wasp"]
    (tmp_path / "gone_net.py").unlink()
    (tmp_path / "m.json").unlink()
    shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
    monkeypatch.delitem(sys.modules, "gone_net")
    assert message_of(tmp_path / "m.pkl", trust=True) == (
        "m.pkl needs the module 'gone_net': install it, or run where it can be imported"
    )


@pytest.mark.parametrize("classes", [("a/cat", "b"), (".", "n/a"), ("..", "x/y/..")])
def test_classes_that_no_folder_could_be_named_after(build, tmp_path, classes):
    learn, spec = build("resnet20_cifar", classes=classes)
    models.export(learn, spec, tmp_path / "model.pkl")
    assert models.load(tmp_path / "model.pkl").classes == list(classes)


def test_a_prepared_image_is_what_validation_made_of_it(exported):
    predictor = models.load(exported["resnet20_cifar"][1] / "model.pkl")
    photo = Image.effect_noise((90, 60), 80).convert("RGB")
    prepared = predictor.prepare(photo)
    assert prepared.size == (predictor.image_size, predictor.image_size)
    assert prepared.tobytes() == predictor.prepare(prepared).tobytes()
    assert torch.equal(predictor.probabilities([photo]), predictor.probabilities([prepared]))


def test_a_network_of_the_users_own_is_found_where_the_user_stands(build, tmp_path, monkeypatch):
    (tmp_path / "own_net.py").write_text(
        "from torch import nn\n\n\nclass Net(nn.Sequential):\n    pass\n\n\n"
        "def build(classes):\n    return Net(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, classes))\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])  # as a console script has it
    learn, spec = build("own_net:build")
    models.export(learn, spec, tmp_path / "m.pkl")
    sys.path.remove(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_net")
    assert message_of(tmp_path / "m.pkl") == "m.pkl runs the code of own_net:build: give --trust if you trust it"
    assert "own_net" not in sys.modules
    assert models.load(tmp_path / "m.pkl", trust=True).classes == ["ant", "bee", "wasp"]
