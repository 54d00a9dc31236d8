"""The safe half of a bundle: weights in ``model.safetensors``, and in ``model.json`` what they are the weights of.

    write(Path("model.safetensors"), facts, weights)        # and model.json beside it
    facts = read(Path("model.pkl"))                         # what is said of exactly this file, or None

Neither holds code. The JSON file names both others by their SHA-256, so that a model.pkl that was exchanged is
not taken for the one it describes. Importing this file is cheap: torch comes with the weights.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from models.description import FORMAT, VERSION, parse
from models.errors import ModelError, is_utf8, reason_of
from models.whole_file import whole_files

JSON, WEIGHTS = ".json", ".safetensors"
HEAD = 4096  # bytes
OS_ERROR = re.compile(r"\(os error (\d+)\)")  # all that safetensors says of a full disk


def write(path: Path, facts: Mapping[str, Any], weights: Mapping[str, Any], pickle: Path | None = None) -> None:
    """Write the weights to `path`, and the description beside it, both complete or as they were.

    Parameters
    ----------
    path
        The name of the .safetensors file.
    facts
        The keys of `models.description.KINDS` without ``sha256``, and more for people to read; values that JSON holds.
    weights
        CPU tensors by name; floating ones are written as float32.
    pickle
        The model.pkl of which this is the safe half, which is there already.

    Raises
    ------
    OSError
        A file cannot be written.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    tensors = {
        name: (tensor.detach().float() if tensor.is_floating_point() else tensor.detach()).contiguous().clone()
        for name, tensor in weights.items()
    }
    with whole_files(path, path.with_suffix(JSON)) as (whole, described):
        try:
            save_file(tensors, whole, metadata={"format": FORMAT})
        except SafetensorError as error:
            if not (found := OS_ERROR.search(str(error))):
                raise
            raise OSError(int(found[1]), os.strerror(int(found[1])), str(whole)) from error
        hashes = {"weights": sha256(whole)} | ({"pickle": sha256(pickle)} if pickle else {})
        content = {"format": FORMAT, "version": VERSION, **facts, "sha256": hashes}
        described.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")  # in ASCII, which holds any name
        whole.chmod(described.stat().st_mode)  # safetensors writes for the owner alone


def beside(model: Path) -> tuple[Path, Path]:
    """Where the weights and the description of a model lie."""
    return model.with_suffix(WEIGHTS), model.with_suffix(JSON)


def is_ours(path: Path) -> bool:
    """Whether a .json or .safetensors file is one that `write` may replace: its own, by what stands at its head."""
    if path.exists() and not path.is_file():  # to open a pipe is to wait for its other end
        return False
    with path.open("rb") as stream:
        head = stream.read(HEAD)
    if path.suffix == WEIGHTS:
        head = head[8:]  # the length of the header
    return f'"format":"{FORMAT}"'.encode() in head.replace(b" ", b"")


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        digest = hashlib.sha256()
        while block := stream.read(2**20):
            digest.update(block)
    return digest.hexdigest()


def read(model: Path) -> dict[str, Any] | None:
    """What the JSON file beside `model` (a .pkl, .safetensors or .json file) says of it.

    None where a .pkl has none, or one that speaks of another file.

    Raises
    ------
    ModelError
        The weights, or the JSON file of a .safetensors or .json file, are missing, damaged or of another model.
    """
    described, weights = model.with_suffix(JSON), model.with_suffix(WEIGHTS)
    is_pickle = model.suffix not in (JSON, WEIGHTS)
    try:
        facts = parse(described)
        hashes = facts["sha256"]
        if is_pickle and hashes.get("pickle") != sha256(model):
            return None
        if not weights.is_file():
            raise ModelError(f"{described}: {weights.name} is missing: keep the two together")
        if hashes.get("weights") != sha256(weights):
            raise ModelError(f"{weights} is not the file that {described.name} describes: export the model again")
    except (ModelError, OSError):  # which may be for the eyes of another user alone
        if is_pickle:
            return None
        raise
    return facts


def load_weights(model: Path) -> dict[str, Any]:
    """The tensors beside `model`, by name, on the CPU."""
    from safetensors.torch import load, load_file

    path = model.with_suffix(WEIGHTS)
    try:
        return load_file(path) if is_utf8(path) else load(path.read_bytes())
    except Exception as error:  # its own class, which says nothing to the user
        raise ModelError(f"{path} is damaged ({reason_of(error)}): export it again") from error
