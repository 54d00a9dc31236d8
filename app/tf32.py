"""TF32: float32 products on tensor cores, with ten bits of mantissa.

set_tf32(True)
"""

import torch


def set_tf32(on: bool) -> None:
    """Let CUDA matrix products and convolutions of float32 use TF32, or keep them from it.

    torch 2.9 has a new API, ``torch.backends.*.fp32_precision``, and an old one, ``allow_tf32``; where the two
    disagree, reading the old one raises. The inductor of 2.9 and 2.10 reads it, so that torch.compile fails after
    the new one alone was set (pytorch issue 166387). ``set_float32_matmul_precision`` keeps both in step; for
    convolutions both are set here. The old name can go when torch 2.11 is the oldest supported.
    """
    torch.set_float32_matmul_precision("high" if on else "highest")
    torch.backends.cudnn.allow_tf32 = on
    for operation in (torch.backends.cudnn.conv, torch.backends.cudnn.rnn):
        operation.fp32_precision = "tf32" if on else "ieee"
