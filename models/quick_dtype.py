"""In which numbers this CPU convolves faster, float32 or bfloat16: some have instructions for bfloat16 that are slower.

quick_dtype()                               # torch.float32
"""

import time
from functools import cache

import torch
from torch import nn

IMAGES, CHANNELS, SIDE = 4, 64, 56  # of a convolution in the middle of a network
ROUNDS = 5  # the fastest counts: whatever else the machine does can only slow one down
GAIN = 0.8  # of the time; less of a gain is not worth another rounding


@cache
def quick_dtype() -> torch.dtype:
    """`torch.bfloat16` where the CPU has instructions for it and they are faster, else `torch.float32`.

    A product of bfloat16 took 0.5 of float32's time on an AMD EPYC with avx512_bf16, and twice the time on an Intel
    Xeon with avx512_bf16 and without amx_bf16. Measured once in a process, in some hundredths of a second.
    """
    if not (torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()):
        return torch.float32
    exact, rounded = _Convolution(torch.float32), _Convolution(torch.bfloat16)
    turns = [(exact.seconds(), rounded.seconds()) for _ in range(1 + ROUNDS)][1:]  # the first warms up
    slow, quick = (min(seconds) for seconds in zip(*turns))
    return torch.bfloat16 if quick < GAIN * slow else torch.float32


class _Convolution:
    def __init__(self, dtype: torch.dtype):
        self._layer = nn.Conv2d(CHANNELS, CHANNELS, 3).to(dtype, memory_format=torch.channels_last)
        self._images = torch.ones(IMAGES, CHANNELS, SIDE, SIDE, dtype=dtype).to(memory_format=torch.channels_last)

    def seconds(self) -> float:
        with torch.inference_mode(), torch.autocast("cpu", enabled=False):
            started = time.perf_counter()
            self._layer(self._images)
            return time.perf_counter() - started
