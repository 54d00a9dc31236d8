"""From an architecture's name to a fastai ``Learner``, and from a trained one to ``model.pkl``.

spec = models.spec("auto", scan)            # image size, statistics, defaults; before the data are loaded
learn = models.learner(loaders, spec)       # a fastai Learner
models.export(learn, spec, "model.pkl")     # loads with stock fastai
predictor = models.load("model.pkl")
"""

from typing import Any

from models.errors import ModelError
from models.spec import Spec, spec

__all__ = ["ModelError", "Spec", "export", "learner", "load", "spec"]


def __getattr__(name: str) -> Any:
    # These need torch or fastai, which take seconds to import: only when they are asked for.
    if name == "learner":
        from models.learners import learner

        return learner
    if name == "export":
        from models.bundle import export

        return export
    if name == "load":
        from models.loading import load

        return load
    raise AttributeError(f"module 'models' has no attribute {name!r}")
