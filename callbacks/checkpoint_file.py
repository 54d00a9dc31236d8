"""A checkpoint's file: written whole, of CPU tensors and plain values, and read without running anything.

write_checkpoint(Path("last.pth"), {"model": model.state_dict()})
read_checkpoint(Path("last.pth"))["model"]
"""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from callbacks.host import nested_to_host
from callbacks.whole_file import whole_file

FORMAT = 1


class CheckpointError(ValueError):
    """A file is no checkpoint, or one of another training; the message says so in one line."""


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Read a checkpoint, to CPU memory, by ``torch.load(weights_only=True)``: nothing in it is run.

    Raises
    ------
    CheckpointError
        The file is damaged, or no checkpoint of this format.
    OSError
        It is not there, or cannot be read.
    """
    with path.open("rb") as stream:
        try:
            with zipfile.ZipFile(stream) as archive:  # torch does not look at the checksums
                if damaged := archive.testzip():
                    raise CheckpointError(damaged)
            stream.seek(0)
            state = torch.load(stream, map_location="cpu", weights_only=True)
        except Exception as error:  # of many kinds: half a file is an OSError of torch's
            raise CheckpointError(f"{path} is damaged, or no checkpoint") from error
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise CheckpointError(f"{path} is no checkpoint of this version")
    return state


def write_checkpoint(path: Path, content: dict[str, Any]) -> None:
    """Write `content`; the file is whole, or the one before.

    Raises
    ------
    OSError
        It cannot be written.
    """
    content = {"format": FORMAT, **content}
    with whole_file(path) as partial:
        try:
            with partial.open("wb") as stream:
                torch.save(nested_to_host(_plain(content)), stream)
        except RuntimeError as error:  # torch's writer complains of what the failed write has left
            if isinstance(error.__context__, OSError):
                raise error.__context__ from None
            raise


def _plain(value: Any) -> Any:
    """`value` in types that ``weights_only`` knows: no subclass of Tensor, no NumPy number, no list of fastcore's."""
    if isinstance(value, torch.Tensor):
        return value if type(value) is torch.Tensor else value.detach().as_subclass(torch.Tensor)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(_plain(item) for item in value)
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        return value
    return [_plain(item) for item in value]
