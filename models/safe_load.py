"""Read an exported Learner without running it: names from a list, placeholders for all but tensors and layers.

    predictor = load_safely(Path("export.pkl"))

A pickle is a program: it names functions and calls them. Here a name is looked up in `models.allowed`; one that is
not there ends the reading before anything is called, and of those that are there none runs code of its own but
the few that make tensors and containers. The network is then put together from the layers that were read, without
calling their constructors.
"""

import pickle
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

from models.allowed import INERT, current_name
from models.architectures import Architecture
from models.errors import ModelError, Refused
from models.learner_parts import preparation_of, vocabulary_of
from models.modules import MODULES, put_together
from models.placeholders import Placeholder, is_a, stand_in
from models.predictor import Predictor
from models.rebuild import describe
from models.tensors import MAKERS

TRUST = "if you trust whoever made it, --trust loads it as fastai does"


class ListedUnpickler(pickle.Unpickler):
    """Finds a name on the list, or raises `Refused` with it."""

    def find_class(self, module: str, name: str) -> Any:
        module, name = current_name(module, name)
        if (module, name) in MAKERS:
            return MAKERS[module, name]
        if (module, name) in INERT or (module, name) in MODULES:
            return stand_in(module, name)
        raise Refused(f"refused, it asks for {module}.{name}, which no exported model needs: {TRUST}")


class Inspector(ListedUnpickler):
    """Runs a pickle through without its tensors, so that everything it asks for is seen."""

    def find_class(self, module: str, name: str) -> Any:
        super().find_class(module, name)
        return stand_in(module, name)

    def persistent_load(self, _: Any) -> Placeholder:
        return stand_in("torch", "storage")()


# torch.load takes a module, of which it uses these names.
LISTED_PICKLE = SimpleNamespace(__name__="pickle", Unpickler=ListedUnpickler)


def load_safely(path: Path) -> Predictor:
    """Load a Learner of ours or of stock `vision_learner`.

    Raises
    ------
    ModelError
        It asks for a name that is not on the list, which is named and was not run; it holds no Learner; or it
        prepares images in a way that only fastai can.
    """
    try:
        _check_entries(path)
        learn = torch.load(path, map_location="cpu", pickle_module=LISTED_PICKLE, weights_only=False)
        if not is_a(learn, "fastai.learner.Learner"):
            kind = learn.origin[1] if isinstance(learn, Placeholder) else type(learn).__name__
            raise ModelError(f"holds no Learner but {kind}: give the model.pkl that app.train wrote")
        loaders = learn.state["dls"]
        network = put_together(learn.state["model"])
        facts = {"classes": vocabulary_of(loaders), **_description_of(learn, network)}
        return Predictor(network, preparation_of(loaders), facts)
    except ModelError as error:
        raise type(error)(f"{path} {error}") from error
    except Exception as error:  # a damaged pickle is a random program
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:160].rstrip(": ")
        raise ModelError(f"{path} cannot be loaded ({reason}): export it again") from error


def _description_of(learn: Placeholder, network: nn.Module) -> dict[str, Any]:
    """How to make the network again, where `vision_learner` has noted its architecture; else nothing."""
    arch = learn.state.get("arch")
    if isinstance(arch, type) and issubclass(arch, Placeholder) and arch.origin[0].startswith("torchvision."):
        found = Architecture(arch.origin[1], "torchvision")
    elif isinstance(arch, str):
        found = Architecture(arch, "timm")
    else:
        return {}
    try:
        return describe(network, found)
    except ModelError:  # a head of another kind
        return {}


def _check_entries(path: Path) -> None:
    """Refuse an archive that another reader could read another pickle from, or that is TorchScript.

    All its pickles are read, so that what one of them asks for is named.
    """
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        pickles = [entry for entry in archive.infolist() if entry.filename.endswith(".pkl")]
        for entry in pickles:  # not by name: one may be there twice
            try:
                Inspector(archive.open(entry), encoding="utf-8").load()
            except Refused:
                raise
            except Exception:  # torch.load, which comes next, says it better
                continue
    if len(pickles) != 1 or len(set(names)) != len(names) or len({name.partition("/")[0] for name in names}) != 1:
        found = ", ".join(entry.filename for entry in pickles)
        raise Refused(f"refused, it holds more than one model ({found}): {TRUST}")
