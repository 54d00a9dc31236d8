"""Pickles that would run something, each by another way: nothing runs, and what they ask for is named.

python -m pytest tests/models/test_hostile.py
"""

import importlib
import os
import pickle
import struct
import subprocess
import sys
import warnings
import zipfile
from collections import OrderedDict

import cloudpickle
import fastcore.basics
import pytest
import torch
from fastai.metrics import accuracy

import models
from models.errors import Refused
from models.trusted import load_trusted

SYSTEM = f"{os.system.__module__}.system"  # posix or nt
WAY_OUT = "if you trust whoever made it, --trust loads it as fastai does"


class Calls:
    """Pickled as a call of `function`."""

    def __init__(self, function, *args):
        self.function, self.args = function, args

    def __reduce__(self):
        return self.function, self.args


def opens(marker):
    return f"open({str(marker)!r}, 'w')"


def archive(path, *pickles):
    """Pickles that were put together by hand, as torch.save lays its files out."""
    with zipfile.ZipFile(path, "w") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a name that comes twice
        file.writestr("archive/data.pkl", pickles[0])
        file.writestr("archive/version", "3\n")
        for content in pickles[1:]:
            file.writestr("archive/data.pkl", content)


def text(value):
    encoded = value.encode()
    return b"X" + struct.pack("<I", len(encoded)) + encoded


def stack_global(path, marker):
    """Module and name are put together on the stack, so that no list of GLOBAL opcodes shows them."""
    archive(path, b"\x80\x04" + text("os") + text("system") + b"\x93" + text(f"touch {marker}") + b"\x85R.")


def memo(path, marker):
    """A harmless object is the result; module and name of the call come out of the memo, and POP drops it."""
    names = text("posix") + b"q\x010" + text("system") + b"q\x020"
    harmless = b"ccollections\nOrderedDict\n)Rq\x030"
    archive(path, b"\x80\x04" + names + harmless + b"h\x01h\x02\x93" + text(f"touch {marker}") + b"\x85R0h\x03.")


def in_a_state(path, marker):
    """The call is in the state that BUILD gives to an object."""
    call = b"cposix\nsystem\n" + text(f"touch {marker}") + b"\x85R"
    archive(path, b"\x80\x02ccollections\nOrderedDict\n)R}" + text("x") + call + b"sb.")


def two_pickles(path, marker):
    """Under one name; which of them is read depends on the reader."""
    archive(path, pickle.dumps(OrderedDict(), 2), pickle.dumps(Calls(os.system, f"touch {marker}"), 2))


def importlibs(path, marker):
    (marker.parent / "hostile_module.py").write_text(opens(marker))
    torch.save(Calls(importlib.import_module, "hostile_module"), path)


def fetching(path, marker):
    source = marker.with_name("source")
    source.write_text("fetched")
    torch.save(Calls(torch.hub.load_state_dict_from_url, source.as_uri(), marker.parent, None, 0, 0, marker.name), path)


def bytecode(path, marker):
    """A function by value, which its file builds from bytes and calls; all its names are in good exports, too."""
    name = str(marker)
    torch.save(Calls(lambda: open(name, "w").close()), path, pickle_module=cloudpickle)


HOSTILE = {
    "os.system": (lambda path, marker: torch.save(Calls(os.system, f"touch {marker}"), path), SYSTEM),
    "subprocess": (lambda path, marker: torch.save(Calls(subprocess.call, ["touch", str(marker)]), path),
                   "subprocess.call"),
    "eval": (lambda path, marker: torch.save(Calls(eval, opens(marker)), path), "builtins.eval"),
    "exec": (lambda path, marker: torch.save(Calls(exec, opens(marker)), path), "builtins.exec"),
    "importlib": (importlibs, "importlib.import_module"),
    "fastcore": (lambda path, marker: torch.save(Calls(fastcore.basics.exec_local, f"x = {opens(marker)}", "x"), path),
                 "fastcore.basics.exec_local"),
    "torch.hub": (fetching, "torch.hub.load_state_dict_from_url"),
    "nested": (lambda path, marker: torch.save(OrderedDict(a=[{"b": (1, Calls(os.system, f"touch {marker}"))}]), path),
               SYSTEM),
    "STACK_GLOBAL": (stack_global, "os.system"),
    "memo": (memo, "posix.system"),
    "BUILD": (in_a_state, "posix.system"),
    "two pickles": (two_pickles, SYSTEM),
}  # fmt: skip
every_one = pytest.mark.parametrize("kind", HOSTILE)


@pytest.fixture
def places(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    yield tmp_path / "model.pkl", tmp_path / "marker"
    sys.modules.pop("hostile_module", None)


def refusal_of(path):
    with pytest.raises(Refused) as raised:
        models.load(path)
    return str(raised.value).replace(f"{path.parent}/", "")


@every_one
def test_nothing_runs_and_the_name_is_said(places, kind):
    path, marker = places
    write, named = HOSTILE[kind]
    write(path, marker)
    assert refusal_of(path) == f"model.pkl refused, it asks for {named}, which no exported model needs: {WAY_OUT}"
    assert not marker.exists()


@every_one
def test_it_would_have_run(places, kind):
    """What is refused above is no dud."""
    path, marker = places
    HOSTILE[kind][0](path, marker)
    with pytest.raises(models.ModelError):  # each has run by the time that it is seen to be no Learner
        load_trusted(path)
    assert marker.exists()


def test_a_function_by_value_is_not_built(places):
    path, marker = places
    bytecode(path, marker)
    assert refusal_of(path) == "model.pkl refused, it calls what cloudpickle.cloudpickle._make_function made"
    assert not marker.exists()


@pytest.fixture
def learner(build, tmp_path):
    learn, spec = build("resnet20_cifar")
    models.export(learn, spec, tmp_path / "good.pkl")
    (tmp_path / "good.json").unlink()
    return tmp_path / "good.pkl"


@pytest.mark.parametrize("place", ["learner", "layer", "transform", "vocab"])
def test_a_good_learner_with_one_poisoned_attribute(places, learner, place):
    path, marker = places
    content = torch.load(learner, weights_only=False)
    poison = Calls(os.system, f"touch {marker}")
    if place == "learner":
        content.extra = poison
    elif place == "layer":
        content.model.conv1.extra = poison
    elif place == "transform":
        content.dls.after_item.fs[0].extra = poison
    else:
        content.dls.vocab.items.append(poison)
    torch.save(content, path, pickle_module=cloudpickle, pickle_protocol=2)
    assert refusal_of(path) == f"model.pkl refused, it asks for {SYSTEM}, which no exported model needs: {WAY_OUT}"
    assert not marker.exists()


def test_a_layer_with_a_hook(places, learner):
    path, _ = places
    content = torch.load(learner, weights_only=False)
    content.model.conv1.register_forward_hook(accuracy)  # a name that is on the list
    torch.save(content, path, pickle_module=cloudpickle, pickle_protocol=2)
    assert refusal_of(path) == "model.pkl refused, its layer Conv2d has _forward_hooks: export it without hooks"


def test_two_harmless_pickles(places):
    path, _ = places
    archive(path, pickle.dumps(OrderedDict(), 2), pickle.dumps(OrderedDict(), 2))
    assert refusal_of(path) == (
        f"model.pkl refused, it holds more than one model (archive/data.pkl, archive/data.pkl): {WAY_OUT}"
    )


def test_a_script_for_torchs_own_interpreter(places):
    path, _ = places
    torch.jit.script(torch.nn.Linear(2, 2)).save(path)
    assert refusal_of(path).startswith("model.pkl refused, ")
