"""Where in an image a network sees its class: Grad-CAM (Selvaraju et al. 2017, arXiv 1610.02391).

layer = last_maps(network, batch)
heat = grad_cam(network, layer, batch, classes)     # (N, height, width), from 0 to 1
"""

import torch
from torch import Tensor, nn

from models.errors import ModelError

SMALLEST = 2  # px, side of maps that can say where something is


def last_maps(network: nn.Module, batch: Tensor) -> nn.Module:
    """The module whose output are the last maps of features: all that comes after it sees no places any more.

    Parameters
    ----------
    batch
        Normalised images, float32 (N, 3, height, width); one suffices.

    Raises
    ------
    ModelError
        The network has tokens instead of maps, as transformers do, or no maps at all.
    """
    found: list[nn.Module] = []
    tokens: list[str] = []

    def look(module: nn.Module, _: tuple, output: object) -> None:
        if not isinstance(output, Tensor):
            return
        if output.ndim == 4 and min(output.shape[-2:]) >= SMALLEST:
            found.append(module)
        if output.ndim == 3 and output.shape[1] > 1:
            tokens.append(type(module).__name__)

    hooks = [module.register_forward_hook(look) for module in network.modules() if module is not network]
    try:
        with torch.no_grad():
            network(batch[:1])
    finally:
        for hook in hooks:
            hook.remove()
    if tokens:
        raise ModelError("has no maps of features but tokens, as transformers do: Grad-CAM has no meaning for it")
    if not found:
        raise ModelError("has no maps of features for Grad-CAM: its layers do not keep where in the image something is")
    return found[-1]


def grad_cam(network: nn.Module, layer: nn.Module, batch: Tensor, classes: Tensor) -> Tensor:
    """What in the maps of `layer` speaks for each image's class, blown up to the size of the images.

    Parameters
    ----------
    batch
        As of `last_maps`, (N, 3, height, width).
    classes
        int64 (N,), whose logits are explained.

    Returns
    -------
    Tensor
        float32 (N, height, width), 1 where the heat of an image is largest; 0 everywhere if nothing speaks for it.
    """
    from fastai.callback.hook import hook_output  # seconds, which only an explanation is worth

    with torch.inference_mode(False), torch.enable_grad(), hook_output(layer, detach=False) as hook:
        images = batch.clone().requires_grad_(True)
        logits = network(images)
        (slopes,) = torch.autograd.grad(logits.gather(1, classes.clone()[:, None]).sum(), hook.stored)
        maps = hook.stored.detach()
    heat = (slopes.mean((2, 3), keepdim=True) * maps).sum(1, keepdim=True).relu()
    heat = nn.functional.interpolate(heat, batch.shape[2:], mode="bilinear", align_corners=False)[:, 0]
    highest = heat.amax((1, 2), keepdim=True)
    return (heat / highest.where(highest > 0, torch.ones(()))).detach()
