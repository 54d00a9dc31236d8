"""Lay a batch out over several devices, a share of its images on each; everything else is whole on all of them."""

from typing import Any

import torch


class BatchSharding:
    """What torch_xla's loader takes as ``input_sharding``: dimension 0 is split over `devices`, where it can be.

    A ``ShardingSpec`` of torch_xla is for tensors of one rank, and silently leaves others whole; so one is made
    for each tensor. A batch that the devices cannot share evenly, the last perhaps, lies whole on all of them.

    Parameters
    ----------
    devices
        All the devices of this process.
    """

    minibatch = False  # this process has all images of a batch, not its host's share

    def __init__(self, devices: int):
        import numpy
        from torch_xla.distributed.spmd import Mesh

        self.devices = devices
        self.mesh = Mesh(numpy.arange(devices), (devices,), ("data",))

    def xla_spec(self, tensor: torch.Tensor) -> Any:
        """torch_xla's description for a tensor of any shape; None leaves it whole."""
        from torch_xla.distributed.spmd import ShardingSpec

        if tensor.ndim == 0 or len(tensor) % self.devices:
            return None
        return ShardingSpec(self.mesh, ("data", *[None] * (tensor.ndim - 1))).xla_spec(tensor)
