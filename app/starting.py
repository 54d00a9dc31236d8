"""What a training starts from: the spec, and with ``app.train --weights MODEL`` an earlier model.

source = earlier_model(args)                # a predictor, or None; before the data are looked at
spec = starting_point(args, scan, source)
"""

from argparse import Namespace
from pathlib import Path
from typing import Any

import models
from app import report
from app.errors import UsageError
from data import Scan
from models import Spec
from models.errors import ModelError
from models.start import architecture_of, settled_by


def starting_point(args: Namespace, scan: Scan, source: Any | None) -> Spec:
    """What the network wants, with the normalisation that the weights of `source` are used to."""
    pretrained, probe = args.pretrained is not False, args.probe is not False
    spec = models.spec(args.arch, scan, image_size=args.img_size, pretrained=pretrained, probe=probe)
    return settled_by(spec, source)


def earlier_model(args: Namespace) -> Any | None:
    """Load the model of ``--weights`` if any, with its architecture and image size where `args` has no others.

    Raises
    ------
    UsageError
        It cannot be loaded without ``--trust``, or holds no weights to train.
    """
    if args.weights is None:
        return None
    path = Path(args.weights)
    args.weights = str(path.resolve())  # for args.yaml, which may be used from elsewhere
    source = models.load(path)
    if not hasattr(source, "network"):
        raise UsageError(f"--weights {path}: an ONNX file cannot be trained on, give the model it was made of")
    if args.arch == "auto":
        try:
            args.arch = architecture_of(source)
        except ModelError as error:
            raise UsageError(f"--weights {path} {error}") from error
    if args.img_size is None:
        args.img_size = source.image_size
    report.say(f"weights: {path}, of a network for {len(source.classes)} classes at {source.image_size} px")
    return source
