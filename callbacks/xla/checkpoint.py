"""``Learner.save`` while the model is on XLA: a file of CPU tensors, which loads anywhere.

save(learn, "best")                         # learn.path/models/best.pth, as SaveModelCallback asks for it
"""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from fastai.learner import Learner, save_model
from fastcore.foundation import L
from fastcore.xtras import join_path_file

from callbacks.host import to_host


def save(learn: Learner, file: str | Path, **options: Any) -> Path:
    """As fastai's, whose file would need torch_xla to be loaded; `options` are those of ``Learner.save``."""
    file = join_path_file(file, learn.path / learn.model_dir, ext=".pth")
    opt = None if learn.opt is None else _holding(_on_cpu(learn.opt.state_dict()))
    save_model(file, _holding(_on_cpu(learn.model.state_dict())), opt, **options)
    return file


def _holding(state: Any) -> SimpleNamespace:
    return SimpleNamespace(state_dict=lambda: state)


def _on_cpu(state: Any) -> Any:
    """A copy of nested dicts and lists whose tensors are on the CPU, in one transfer."""
    found: list[torch.Tensor] = []
    _map(state, lambda tensor: found.append(tensor) or tensor)
    copies = iter(to_host(found))
    return _map(state, lambda _: next(copies))


def _map(value: Any, function: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, dict):
        return {key: _map(part, function) for key, part in value.items()}
    if isinstance(value, (list, tuple, L)):
        return type(value)(_map(part, function) for part in value)
    return value
