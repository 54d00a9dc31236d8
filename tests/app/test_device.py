"""A device is chosen with its reason, and never one that is not there.

python -m pytest tests/app/test_device.py
"""

import pytest
import torch

from app.device import choose_device
from app.errors import UsageError

without_a_gpu = pytest.mark.skipif(
    torch.cuda.is_available() or torch.backends.mps.is_available(), reason="there is a GPU here"
)


def test_the_cpu_as_asked():
    device, reason = choose_device("cpu")
    assert device == torch.device("cpu")
    assert reason.startswith("as asked; ")


@pytest.mark.parametrize(("threads", "said"), [(1, "1 thread of "), (2, "2 threads of ")])
def test_threads_are_counted_in_words(threads, said):
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        assert said in choose_device("cpu")[1]
    finally:
        torch.set_num_threads(before)


@without_a_gpu
def test_auto_falls_back_to_the_cpu_and_says_why():
    device, reason = choose_device("auto")
    assert device == torch.device("cpu")
    assert reason.startswith("no GPU was found; ")


@without_a_gpu
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cuda", "--device cuda: 0 CUDA devices found; use --device auto or cpu"),
        ("cuda:3", "--device cuda:3: 0 CUDA devices found; use --device auto or cpu"),
        ("mps", "--device mps: not found on this machine; use --device auto or cpu"),
    ],
)
def test_a_device_that_is_not_there(name, message):
    with pytest.raises(UsageError) as raised:
        choose_device(name)
    assert str(raised.value) == message


@pytest.mark.parametrize("name", ["cuda:9999999999", "cuda:²", "cuda:x"])
def test_a_gpu_that_cannot_be(name):
    with pytest.raises(UsageError) as raised:
        choose_device(name)
    assert str(raised.value) == f"--device {name}: expected cuda or cuda:N, N from 0 to 127"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
def test_a_gpu_is_named():
    device, reason = choose_device("auto")
    assert device.type == "cuda"
    assert reason.startswith(f"{torch.cuda.get_device_name()}, capability ")
    with pytest.raises(UsageError, match=r"^--device cuda:99: \d+ CUDA device\(s\) found; use --device auto or cpu$"):
        choose_device("cuda:99")
