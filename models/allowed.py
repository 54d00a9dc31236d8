"""The names that an exported Learner may hold, all without effect: each becomes a placeholder.

current_name("__builtin__", "reduce") in INERT      # as Python 2's pickles, and protocol 2, spell it

What makes tensors is in `models.tensors`, what layers may be in `models.modules`.
"""

import _compat_pickle

# By module, as found in exports of ours and of stock `vision_learner`. Among them are functions that would be
# dangerous to call (getattr, subimport, _make_function, load_image): nothing here is called.
_NAMES = {
    "PIL.Image": "Image Resampling",
    "_codecs": "encode",
    "_operator": "or_",
    "builtins": "bool bytes dict float frozenset getattr int list object print slice str tuple type",
    "cloudpickle.cloudpickle": "_builtin_type _function_setstate _make_cell _make_empty_cell _make_function subimport",
    "collections": "defaultdict",
    "fastai.callback.core": "Callback GatherPredsCallback TrainEvalCallback",
    "fastai.callback.fp16": "MixedPrecision",
    "fastai.callback.mixup": "CutMix MixHandler MixUp",
    "fastai.callback.progress": "CSVLogger ProgressCallback",
    "fastai.callback.schedule": "ParamScheduler",
    "fastai.callback.tracker": "EarlyStoppingCallback SaveModelCallback TrackerCallback",
    "fastai.data.block": "DataBlock TransformBlock",
    "fastai.data.core": "DataLoaders Datasets FilteredBase TfmdDL TfmdLists",
    "fastai.data.load": "DataLoader _FakeLoader _collate_fn _wif",
    "fastai.data.transforms": (
        "Categorize CategoryMap Category ColReader FileGetter FileSplitter GrandparentSplitter IntToFloatTensor "
        "Normalize RandomSplitter RegexLabeller ToTensor get_image_files grandparent_label parent_label"
    ),
    "fastai.imports": "noop",
    "fastai.learner": "AvgLoss AvgMetric AvgSmoothLoss CastToTensor Learner Recorder",
    "fastai.losses": (
        "BaseLoss CrossEntropyLossFlat FocalLoss FocalLossFlat LabelSmoothingCrossEntropy "
        "LabelSmoothingCrossEntropyFlat"
    ),
    "fastai.metrics": "AccumMetric accuracy error_rate top_k_accuracy",
    "fastai.optimizer": "Adam Lamb Lookahead OptimWrapper Optimizer RAdam RMSProp SGD ranger",
    "fastai.torch_core": "TensorBase TensorCategory TensorImage TensorImageBase TensorMask trainable_params",
    "fastai.vision.augment": (
        "AffineCoordTfm Brightness Contrast CropPad Dihedral Flip Hue LightingTfm RandTransform RandomCrop "
        "RandomErasing RandomResizedCrop RandomResizedCropGPU Resize Rotate Saturation SpaceTfm Warp Zoom "
        "_BrightnessLogit _ContrastLogit _Hue _Saturation _WarpCoord affine_mat cutout_gaussian dihedral_mat "
        "flip_mat rotate_mat zoom_mat"
    ),
    "fastai.vision.core": "PILBase PILImage load_image",
    "fastai.vision.learner": "_alexnet_split _densenet_split _resnet_split _squeezenet_split _vgg_split default_split",
    "fastcore.basics": "AttrDict compose_call fastuple itemgetter merge noop",
    "fastcore.dispatch": "TypeDispatch _TypeDict",
    "fastcore.foundation": "L",
    "fastcore.transform": "Pipeline Transform",
    "fasttransform.transform": "Pipeline Transform TfmMeta",
    "functools": "partial reduce",
    "inspect": "Parameter Signature _ParameterKind _empty",
    "itertools": "chain",
    "numpy": "dtype ndarray",
    "numpy._core.multiarray": "_reconstruct scalar",
    "numpy.core.multiarray": "_reconstruct scalar",
    "pathlib": "Path PosixPath PurePath PurePosixPath PureWindowsPath WindowsPath",
    "plum._function": "Function",
    "plum._method": "Method MethodList",
    "plum._resolver": "Resolver",
    "plum._signature": "Signature",
    "plum._util": "Missing",
    "random": "Random",
    "sklearn.metrics._classification": (
        "accuracy_score balanced_accuracy_score cohen_kappa_score f1_score fbeta_score jaccard_score "
        "matthews_corrcoef precision_score recall_score"
    ),
    "sklearn.metrics._ranking": "average_precision_score roc_auc_score",
    "torch": (
        "BFloat16Storage BoolStorage DoubleStorage FloatStorage HalfStorage IntStorage LongStorage ShortStorage "
        "Tensor bfloat16 device float16 float32 float64 int32 int64"
    ),
    "torch.distributions.beta": "Beta",
    "torch.distributions.dirichlet": "Dirichlet",
    "torch.nn.modules.loss": "CrossEntropyLoss NLLLoss",
    "torchvision.models.alexnet": "alexnet",
    "torchvision.models.densenet": "densenet121 densenet161 densenet169 densenet201",
    "torchvision.models.resnet": "resnet18 resnet34 resnet50 resnet101 resnet152",
    "torchvision.models.squeezenet": "squeezenet1_0 squeezenet1_1",
    "torchvision.models.vgg": "vgg11_bn vgg13_bn vgg16_bn vgg19_bn",
    "typing": "Any",
}
INERT = frozenset((module, name) for module, names in _NAMES.items() for name in names.split())


def current_name(module: str, name: str) -> tuple[str, str]:
    """A name as Python 3 has it: protocol 2 writes ``__builtin__ unicode`` for ``builtins str``."""
    module, name = _compat_pickle.NAME_MAPPING.get((module, name), (module, name))
    return _compat_pickle.IMPORT_MAPPING.get(module, module), name
