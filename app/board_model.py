"""What TensorBoard gets of the model itself: its graph, and how it sees validation images, for the projector.

wanted = drawn(len(scan.valid), seed)
write_embeddings(board.writer, found.features, images, scores, wanted)     # found: of models.embeddings.noted
write_graph(board.writer, learn.model, size=224)
"""

import warnings
from contextlib import redirect_stdout
from copy import deepcopy
from io import StringIO

import torch
from torch import Tensor, nn
from torch.utils.tensorboard import SummaryWriter

from app import report
from app.evaluation.scores import Scores
from app.outputs import printable
from models.errors import reason_of

MOST = 1000  # images: with their pictures a projector of more is slow in a browser
# Of the features: it is by these that the projector finds neighbours, and a file of all is 20 times larger.
COMPONENTS = 64
TAG = "validation"
# Of a network whose graph is written, in 2 s. At 224 px on two CPU cores: ResNet-101 (421 modules) 1.3 s, a wide one
# (125 million parameters) 1.6 s; Swin-B (463 modules) 2.3 s. Larger ones: ConvNeXt-L (196 million) and
# ViT-L/16 (540, 303 million) 3.1 s, EfficientNetV2-L (1437) 5.9 s. The events have 0.1 to 1.7 MB.
MOST_MODULES, MOST_PARAMETERS = 450, 150_000_000


def drawn(count: int, seed: int) -> Tensor:
    """Which of `count` images are shown, bool (count,)."""
    wanted = torch.zeros(count, dtype=torch.bool)
    wanted[torch.randperm(count, generator=torch.Generator().manual_seed(seed))[:MOST]] = True
    return wanted


def write_embeddings(
    writer: SummaryWriter, features: Tensor | None, images: Tensor, scores: Scores, wanted: Tensor
) -> None:
    """Write the images that were `wanted` as points, with class, prediction and file; nothing where there are none.

    Parameters
    ----------
    features, images
        float32 (n, F), and (n, 3, side, side) from 0 to 1; of the n images that were `wanted`.
    """
    if features is None or len(features) < 2:
        return
    rows = wanted.nonzero().flatten().tolist()
    classes = [printable(name) for name in scores.classes]
    metadata = [
        [classes[scores.targets[row]], classes[scores.predicted[row]], printable(scores.name(row))] for row in rows
    ]
    with redirect_stdout(StringIO()):  # torch prints that a run taken up again has had some before
        writer.add_embedding(
            _principal(features),
            metadata=metadata,
            metadata_header=["class", "predicted", "file"],
            label_img=images.clamp(0, 1),
            tag=TAG,
            global_step=0,
        )


def write_graph(
    writer: SummaryWriter,
    model: nn.Module,
    size: int,
    most_modules: int = MOST_MODULES,
    most_parameters: int = MOST_PARAMETERS,
) -> None:
    """Trace a weightless copy of `model` on one image of `size` px.

    Of a network that cannot be traced there is a warning, of one that is larger than the bounds a line.
    """
    modules = sum(1 for _ in model.modules())
    parameters = sum(parameter.numel() for parameter in model.parameters())
    if modules > most_modules or parameters > most_parameters:
        report.say(
            f"TensorBoard gets no graph of the network, which is too large to be traced quickly: {modules:,} modules "
            f"and {parameters:,} parameters, of at most {most_modules:,} and {most_parameters:,}"
        )
        return
    try:
        image = torch.zeros(1, 3, size, size)
        with warnings.catch_warnings(), redirect_stdout(StringIO()):  # torch prints what it cannot do
            warnings.simplefilter("ignore")  # of sizes that become constants
            # add_graph would trace three times more, to compare; what is traced already it takes as it is.
            writer.add_graph(torch.jit.trace(_weightless(model), image, check_trace=False), image)
    except Exception as error:  # networks that cannot be copied or traced fail in many ways
        reason = reason_of(error)
        report.warn(f"TensorBoard has no graph of the network, which cannot be traced ({reason})")


def _weightless(model: nn.Module) -> nn.Module:
    """A copy for evaluation on the CPU, whose weights are zeros that take no memory: a graph knows only shapes."""
    copies = {}
    for tensor in (*model.parameters(), *model.buffers()):
        if tensor.is_floating_point():  # others may be places or sizes
            zeros = torch.zeros((), dtype=tensor.dtype).expand(tensor.shape)
            is_parameter = isinstance(tensor, nn.Parameter)
            copies[id(tensor)] = nn.Parameter(zeros, requires_grad=False) if is_parameter else zeros
    return deepcopy(model, copies).cpu().eval()


def _principal(features: Tensor) -> Tensor:
    """The components of largest variance, in which distances are almost those of all."""
    directions = torch.pca_lowrank(features, q=min(COMPONENTS, *features.shape))[2]
    return (features - features.mean(0)) @ directions
