"""Prediction goes without fastai and without torch's compiler, and takes nothing away from who needs them.

python -m pytest tests/models/test_light_import.py
"""

import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[2]
SCRIPT = """
import sys
from models.light_import import import_lightly
timm = import_lightly("timm")
assert not [name for name in sys.modules if name.startswith("torch._dynamo")]
import torch, torchvision
network = timm.create_model("resnet18", num_classes=2).eval()
boxes = torch.tensor([[0.0, 0.0, 0.0, 2.0, 2.0]])
assert torchvision.ops.roi_align(torch.ones(1, 1, 4, 4), boxes, 1).item() == 1
compiled = torch.compile(network, backend="eager")
images = torch.zeros(2, 3, 32, 32)
torch.testing.assert_close(compiled(images), network(images))
assert torch._dynamo.utils.is_compile_supported("cpu").__class__ is bool
assert torch.compiler.disable(len)("ab") == 2
"""


def test_the_compiler_comes_when_it_is_asked_for():
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=PROJECT, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
