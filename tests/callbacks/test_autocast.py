"""The forward alone is in bf16 or fp16, and nothing of it is left."""

import fastai.callback.schedule  # noqa: F401  gives Learner lr_find
import pytest
import torch
from fastai.callback.core import Callback
from fastai.callback.training import GradientAccumulation, GradientClip
from fastai.data.core import DataLoaders
from fastai.learner import Learner
from fastai.metrics import accuracy
from torch import nn

from callbacks import autocast
from callbacks.autocast import Autocast, PrecisionError, check_supported


class Seen(Callback):
    """Notes dtypes, and whether autocast is on, where it matters."""

    order = 95

    def __init__(self):
        self.notes = set()

    def after_pred(self):
        self.notes.add(("pred", self.learn.pred.dtype, torch.is_autocast_enabled("cpu")))

    def after_loss(self):
        self.notes.add(("loss", self.learn.loss.dtype, torch.is_autocast_enabled("cpu")))

    def before_step(self):
        self.notes |= {("grad", p.grad.dtype, torch.is_autocast_enabled("cpu")) for p in self.learn.model.parameters()}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.inner, self.broken = nn.Linear(4, 2), set(), False

    def forward(self, x):
        out = self.linear(x)
        self.inner.add(out.dtype)
        if self.broken:
            raise RuntimeError("broken")
        return out


@pytest.fixture
def learn(tmp_path):
    torch.manual_seed(0)
    data = [(torch.randn(4), torch.tensor(i % 2)) for i in range(16)]
    loaders = DataLoaders.from_dsets(data, data, bs=4, device=torch.device("cpu"))
    learn = Learner(loaders, Net(), loss_func=nn.CrossEntropyLoss(), metrics=accuracy, path=tmp_path)
    learn.remove_cb(learn.progress)
    learn.logger = lambda *_: None
    return learn


def test_forward_in_bf16_and_all_else_in_float32(learn):
    seen = Seen()
    learn.fit(1, cbs=[Autocast("bf16"), seen])
    assert learn.model.inner == {torch.bfloat16}
    assert seen.notes == {(name, torch.float32, False) for name in ("pred", "loss", "grad")}
    assert {p.dtype for p in learn.model.parameters()} == {torch.float32}


def test_nothing_remains(learn):
    learn.fit(1, cbs=Autocast("bf16"))
    assert learn.model._compiled_call_impl is None
    assert learn.model(torch.zeros(1, 4)).dtype == torch.float32


def test_an_exception_in_the_forward_leaves_autocast_off(learn):
    learn.model.broken = True
    kept = Autocast("bf16")
    learn.add_cb(kept)
    with pytest.raises(RuntimeError, match="broken"):
        learn.fit(1)
    assert not torch.is_autocast_enabled("cpu")
    learn.remove_cb(kept)
    assert learn.model._compiled_call_impl is None


@pytest.mark.parametrize("run", ["validate", "get_preds", "lr_find"])
def test_other_ways_to_run(learn, run):
    learn.add_cb(Autocast("bf16"))
    result = learn.lr_find(show_plot=False, num_it=12) if run == "lr_find" else getattr(learn, run)()
    assert torch.bfloat16 in learn.model.inner
    if run == "get_preds":
        assert result[0].dtype == torch.float32
    assert learn.model._compiled_call_impl is None


def test_refusals_are_one_line(learn):
    with pytest.raises(ValueError, match=r"^dtype 'fp8' is neither bf16 nor fp16$"):
        Autocast("fp8")
    with pytest.raises(PrecisionError, match="fp16 is not supported on cpu: use bf16 or full precision"):
        learn.fit(1, cbs=Autocast("fp16"))
    with pytest.raises(PrecisionError, match=r"^bf16 is not supported on mps: use full precision$"):
        check_supported("bf16", torch.device("mps"))
    check_supported("fp16", torch.device("cuda"))


@pytest.fixture
def fp16_on_cpu(monkeypatch):
    """The scaler works on a CPU too, and the events around it are the same; the rest of fp16 is refused there."""
    monkeypatch.setitem(autocast.DEVICES, "fp16", ("cpu",))


def test_gradients_are_unscaled_before_they_are_clipped(learn, fp16_on_cpu):
    norms = []

    class Norm(Callback):
        order = 12

        def before_step(self):
            norms.append(torch.cat([p.grad.flatten() for p in self.learn.model.parameters()]).norm().item())

    learn.fit(1, cbs=[Autocast("fp16"), GradientClip(0.1), Norm()])
    assert norms
    assert max(norms) <= 0.1 + 1e-4
    assert min(norms) > 0.05  # the scale is 65,536: clipped first and then unscaled, next to nothing is left


def test_an_overflowing_step_is_skipped_and_the_scale_halved(learn, fp16_on_cpu):
    class Overflow(Callback):
        order = 5

        def before_step(self):
            if self.learn.train_iter == 1:
                next(self.learn.model.parameters()).grad.fill_(float("inf"))
            elif self.learn.train_iter == 2:
                scales.append(precision._scaler.get_scale())

    before, scales = next(learn.model.parameters()).clone(), []
    precision = Autocast("fp16")
    learn.fit(1, cbs=[precision, Overflow()])
    assert precision.skipped == 1
    assert scales == [2.0**15]
    weights = next(learn.model.parameters())
    assert torch.isfinite(weights).all()
    assert not torch.equal(weights, before)


def test_accumulation_works_in_fp16(learn, fp16_on_cpu):
    steps = []

    class Count(Callback):
        order = 20

        def before_step(self):
            steps.append(self.learn.iter)

    learn.fit(1, cbs=[Autocast("fp16"), GradientAccumulation(8), Count()])
    assert steps == [1, 3]
