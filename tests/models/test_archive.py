"""Pickles in archives that are damaged, or made to use up memory.

python -m pytest tests/models/test_archive.py
"""

import shutil
import struct
import zipfile

import pytest

import models
from models.errors import ModelError


@pytest.fixture(scope="module")
def exported(build, tmp_path_factory):
    """A model.pkl without its description."""
    learn, spec = build("resnet20_cifar")
    path = tmp_path_factory.mktemp("exported") / "model.pkl"
    models.export(learn, spec, path)
    path.with_suffix(".json").unlink()
    return path


@pytest.fixture
def copy(exported, tmp_path):
    return shutil.copy(exported, tmp_path / "model.pkl")


def message_of(path, **options):
    with pytest.raises(ModelError) as raised:
        models.load(path, **options)
    return str(raised.value).replace(f"{path.parent}/", "")


def overwrite(path, position, content):
    with path.open("r+b") as stream:
        stream.seek(position)
        stream.write(content)


def archive(path, content, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as file:
        file.writestr("archive/data.pkl", content)
        file.writestr("archive/version", "3\n")


def test_undamaged(copy):
    assert models.load(copy).classes == ["ant", "bee", "wasp"]


@pytest.mark.parametrize("trust", [False, True])
def test_a_flipped_bit_in_the_weights(copy, trust):
    middle = copy.stat().st_size // 2
    overwrite(copy, middle, bytes([copy.read_bytes()[middle] ^ 64]))
    message = message_of(copy, trust=trust)
    assert message.startswith("model.pkl is damaged (in model/data/")
    assert message.endswith("): copy or export it again")


def test_a_damaged_directory(copy):
    overwrite(copy, copy.read_bytes().rfind(b"PK\x01\x02"), b"XXXX")
    assert message_of(copy) == (
        "model.pkl is damaged (Bad magic number for central directory): copy or export it again"
    )


def test_a_compressed_archive(tmp_path):
    """A bomb: a thousandth of what unpickling it would take."""
    path = tmp_path / "model.pkl"
    archive(path, b"\x80\x04\x8e" + struct.pack("<Q", 2**25) + bytes(2**25) + b".", zipfile.ZIP_DEFLATED)
    assert message_of(path) == "model.pkl refused, it is compressed, as no exported model is: export it again"


@pytest.mark.parametrize("hidden", [b"", b"I0x10\n0"])  # a number that not every reader of pickles takes
def test_an_object_with_a_huge_number(tmp_path, hidden):
    """The unpickler would make room for four thousand million others: 64 GB."""
    path = tmp_path / "model.pkl"
    archive(path, b"\x80\x02" + hidden + b"]r" + struct.pack("<I", 2**32 - 1) + b".")
    message = message_of(path)
    if hidden:
        assert message.startswith("model.pkl is damaged (invalid literal")
    else:
        assert message == ("model.pkl refused, it would take memory for objects that it does not have: export it again")
