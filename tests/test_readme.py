"""The README's commands run as they are written, in their order, on small stand-ins for the user's data.

python -m pytest tests/test_readme.py
"""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

PROJECT = Path(__file__).resolve().parent.parent
README = (PROJECT / "README.md").read_text(encoding="utf-8")
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", README, re.S) for line in block.splitlines()]
APP_COMMANDS = [command for command in COMMANDS if command.startswith("python -m app.")]
# A training on the README's terms takes minutes: the test keeps each command and adds these.
QUICK = {"data/": ["--epochs", "1", "--limit", "60"], "photos/": ["--epochs", "1", "--freeze-epochs", "1"]}


def test_make_targets_exist():
    targets = [command.removeprefix("make ") for command in COMMANDS if command.startswith("make ")]
    assert targets == ["demo", "test"]
    for target in targets:
        subprocess.run(["make", "--dry-run", target], cwd=PROJECT, check=True, capture_output=True)


def test_every_command_is_known():
    known = ("python -m app.", "make ", ". .venv/bin/activate", "tensorboard --logdir ")
    assert [command for command in COMMANDS if not command.startswith(known)] == []
    assert len(APP_COMMANDS) >= 8
    assert shutil.which("tensorboard", path=Path(sys.executable).parent)


@pytest.fixture
def stand(tmp_path):
    """A folder with `data/`, `photos/` of 70 px in two classes, and `labels.csv` for them."""
    (tmp_path / "data").symlink_to(PROJECT / "data")
    rng = np.random.default_rng(0)
    lines = ["path,label"]
    for label, tint in (("cat", 60), ("dog", 180)):
        folder = tmp_path / "photos" / label
        folder.mkdir(parents=True)
        for index in range(1, 11):
            pixels = rng.normal(tint, 30, (70, 70, 3)).clip(0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(folder / f"{index}.jpg")
            lines.append(f"{label}/{index}.jpg,{label}")
    (tmp_path / "labels.csv").write_text("\n".join(lines))
    return tmp_path


@pytest.mark.slow
def test_commands_run_in_order(stand):
    for command in APP_COMMANDS:
        words = shlex.split(command)
        if "cifar10" in words:
            continue  # needs the data set; tests/data/test_cifar10.py stands for it
        module, *arguments = words[2:]
        arguments = [word.replace("runs/RUN", _newest_run(stand)) if "RUN" in word else word for word in arguments]
        if module == "app.train" and "--list-archs" not in arguments:
            arguments += next((extra for source, extra in QUICK.items() if source in arguments), [])
        done = subprocess.run(
            [sys.executable, "-m", module, *arguments],
            cwd=stand,
            env={"PYTHONPATH": str(PROJECT), "PATH": "", "HOME": str(stand)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
    assert (stand / "predictions.csv").exists()


def _newest_run(stand: Path) -> str:
    newest = max((stand / "runs").glob("*/args.yaml"))  # app.benchmark's folders have none
    return str(newest.parent.relative_to(stand))


def test_the_python_lines_run():
    """The lines for a fastai script, with a Learner of two classes of noise; `eager` stands for the slow back end."""
    import torch
    from fastai.data.core import DataLoaders
    from fastai.learner import Learner

    (lines,) = re.findall(r"```python\n(.*?)```", README, re.S)
    data = [(torch.randn(3, 8, 8), torch.tensor(i % 2)) for i in range(8)]
    loaders = DataLoaders.from_dsets(data, data, bs=4, device=torch.device("cpu"))
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 2, 3), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
    learn = Learner(loaders, net, loss_func=torch.nn.CrossEntropyLoss())
    exec(lines.replace("CompileForward()", 'CompileForward(backend="eager")'), {"learn": learn})
    assert net._compiled_call_impl is None
