"""In which numbers this CPU convolves faster, float32 or bfloat16: some have instructions for bfloat16 that are slower.

quick_dtype()                               # torch.float32
cpu_features()                              # ["avx512_bf16"]
"""

import time
from functools import cache

import torch
from torch import nn

# The names in /proc/cpuinfo, and who tells whether torch uses them: all there is on macOS and Windows.
FAST_BF16 = {"avx512_bf16": "_is_avx512_bf16_supported", "amx_bf16": "_is_amx_tile_supported"}
IMAGES, CHANNELS, SIDE = 4, 64, 56  # of a convolution in the middle of a network
ROUNDS = 5  # the fastest counts: whatever else the machine does can only slow one down
GAIN = 0.8  # of the time; less of a gain is not worth another rounding


def cpu_features() -> list[str]:
    """Which of `FAST_BF16` the CPU has and torch uses."""
    return [name for name, test in FAST_BF16.items() if getattr(torch.cpu, test, lambda: False)()]


@cache
def quick_dtype() -> torch.dtype:
    """`torch.bfloat16` where the CPU has instructions for it and they are faster, else `torch.float32`.

    On an Intel Xeon with avx512_bf16 and without amx_bf16, a product of bfloat16 takes nearly twice the time of
    float32's. Measured once in a process, in 0.2 s on two cores of that one.
    """
    if not cpu_features():
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
