"""Which layers a network in a pickle may have, and how they are put together without running a constructor.

network = put_together(placeholder)         # nn.Module

The classes of torchvision and timm stand in ``network_classes.txt``, those of torch and fastai here.
"""

from collections import OrderedDict
from importlib import import_module
from typing import Any

from torch import nn

from models import layers, network_classes
from models.errors import ModelError, Refused
from models.light_import import import_lightly
from models.placeholders import Placeholder

_TORCH = {
    "activation": "CELU ELU GELU GLU Hardsigmoid Hardswish Hardtanh LeakyReLU LogSoftmax Mish MultiheadAttention "
    "PReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax Softplus Tanh",
    "batchnorm": "BatchNorm1d BatchNorm2d BatchNorm3d SyncBatchNorm",
    "channelshuffle": "ChannelShuffle",
    "container": "ModuleDict ModuleList ParameterDict ParameterList Sequential",
    "conv": "Conv1d Conv2d Conv3d ConvTranspose2d",
    "dropout": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d",
    "flatten": "Flatten Unflatten",
    "instancenorm": "InstanceNorm1d InstanceNorm2d",
    "linear": "Bilinear Identity Linear NonDynamicallyQuantizableLinear",
    "normalization": "GroupNorm LayerNorm LocalResponseNorm RMSNorm",
    "padding": "ConstantPad2d ReflectionPad2d ReplicationPad2d ZeroPad2d ZeroPad3d",
    "pixelshuffle": "PixelShuffle PixelUnshuffle",
    "pooling": "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveMaxPool1d AdaptiveMaxPool2d AvgPool1d AvgPool2d MaxPool1d "
    "MaxPool2d",
    "transformer": "TransformerEncoder TransformerEncoderLayer",
    "upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
}
# fastai's, in the form that needs no fastai.
_OURS = {
    ("fastai.layers", "AdaptiveConcatPool2d"): layers.AdaptiveConcatPool2d,
    ("fastai.layers", "Flatten"): layers.Flatten,
    ("fastai.layers", "LinBnDrop"): nn.Sequential,
    ("fastai.vision.learner", "TimmBody"): layers.TimmBody,
}
MODULES = frozenset(
    {(f"torch.nn.modules.{module}", name) for module, names in _TORCH.items() for name in names.split()}
    | network_classes.listed()
    | set(_OURS)
)
# Functions that calling code may have put into it, and which must not travel.
_HOOKS = (
    "_backward_hooks",
    "_backward_pre_hooks",
    "_forward_hooks",
    "_forward_hooks_always_called",
    "_forward_hooks_with_kwargs",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_load_state_dict_post_hooks",
    "_load_state_dict_pre_hooks",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
)


def put_together(root: Any) -> nn.Module:
    """The network that a placeholder of its outermost layer stands for.

    A layer gets the attributes that were read; what is no number, text, tensor, layer or container of these
    stays a placeholder, which cannot be called.

    Raises
    ------
    ModelError
        It is no layer, or has hooks.
    """
    if not isinstance(root, Placeholder) or root.origin not in MODULES:
        raise ModelError("holds no network of known layers: give the model.pkl that app.train wrote")
    return _real(root, {})


def _real(value: Any, made: dict[int, Any]) -> Any:
    if id(value) in made:
        return made[id(value)]
    if isinstance(value, Placeholder) and value.origin in MODULES:
        return _module(value, made)
    if type(value) in (list, tuple):
        return type(value)(_real(part, made) for part in value)
    if type(value) in (dict, OrderedDict):
        return type(value)((key, _real(part, made)) for key, part in value.items())
    return value


def _module(found: Placeholder, made: dict[int, Any]) -> nn.Module:
    kind = class_of(*found.origin)
    module = made[id(found)] = kind.__new__(kind)
    nn.Module.__init__(module)  # the class's own constructor may do anything
    state = dict(found.state)
    hooked = next((name for name in _HOOKS if state.pop(name, None)), None)
    if hooked:
        raise Refused(f"refused, its layer {found.origin[1]} has {hooked}: export it without hooks")
    vars(module).update({name: _real(part, made) for name, part in state.items()})
    return module


def class_of(module: str, name: str) -> type[nn.Module]:
    """The class of layers behind a name of `MODULES`.

    Raises
    ------
    ModelError
        This version of timm or torchvision has it not.
    """
    if (module, name) in _OURS:
        return _OURS[module, name]
    try:
        import_lightly(module.partition(".")[0])
        kind = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        package = module.partition(".")[0]
        raise ModelError(f"needs {module}.{name}, which this version of {package} does not have") from error
    if not (isinstance(kind, type) and issubclass(kind, nn.Module)):
        raise ModelError(f"needs {module}.{name}, which is no layer in this version")
    return kind
