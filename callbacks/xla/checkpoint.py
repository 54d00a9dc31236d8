"""``Learner.save`` while the model is on XLA: a file of CPU tensors, which loads anywhere.

save(learn, "best")                         # learn.path/models/best.pth, as SaveModelCallback asks for it
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fastai.learner import Learner, save_model
from fastcore.xtras import join_path_file

from callbacks.host import nested_to_host


def save(learn: Learner, file: str | Path, **options: Any) -> Path:
    """As fastai's, whose file would need torch_xla to be loaded; `options` are those of ``Learner.save``."""
    file = join_path_file(file, learn.path / learn.model_dir, ext=".pth")
    opt = None if learn.opt is None else _holding(nested_to_host(learn.opt.state_dict()))
    save_model(file, _holding(nested_to_host(learn.model.state_dict())), opt, **options)
    return file


def _holding(state: Any) -> SimpleNamespace:
    return SimpleNamespace(state_dict=lambda: state)
