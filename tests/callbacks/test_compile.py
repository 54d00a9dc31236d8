"""What is compiled, how often, and that it trains what it should."""

import pickle

import fastai.callback.schedule  # noqa: F401  gives Learner lr_find
import pytest
import torch
import torchvision
from fastai.callback.core import Callback
from fastai.callback.tracker import SaveModelCallback
from fastai.data.core import DataLoaders
from fastai.learner import Learner
from fastai.optimizer import SGD
from fastai.torch_core import TensorImage, set_seed
from fastai.vision.learner import create_timm_model
from torch import nn

from callbacks.autocast import Autocast
from callbacks.compile import CompileForward, CompileSeconds
from callbacks.memory_format import ChannelsLast
from callbacks.timing import EpochTimer

SIZE, BATCH, TRAIN, VALID = 16, 4, 10, 6  # the validation ends with a partial batch


def network() -> nn.Sequential:
    body = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2), nn.BatchNorm2d(4), nn.ReLU())
    return nn.Sequential(body, nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)))


def two_groups(model):
    return [list(model[0].parameters()), list(model[1].parameters())]


def make_learner(model=None, size=SIZE, path=".", **options):
    set_seed(0)
    data = [(TensorImage(torch.randn(3, size, size)), torch.tensor(i % 2)) for i in range(TRAIN)]
    loaders = DataLoaders.from_dsets(data, data[:VALID], bs=BATCH, device=torch.device("cpu"), num_workers=0)
    learn = Learner(loaders, model or network(), loss_func=nn.CrossEntropyLoss(), path=path, **options)
    learn.remove_cb(learn.progress)
    learn.logger = lambda *_: None
    return learn


@pytest.mark.parametrize("new_each_time", [False, True])
def test_frozen_parameters_train_once_unfrozen_and_four_graphs_are_enough(new_each_time):
    learn = make_learner(splitter=two_groups)
    made = [CompileForward(backend="aot_eager")]
    learn.freeze()
    conv, head = learn.model[0][0].weight, learn.model[1][2].weight
    start = conv.clone(), head.clone()
    learn.fit(2, 0.1, cbs=made[-1])
    assert torch.equal(conv, start[0])
    assert not torch.equal(head, start[1])
    learn.unfreeze()
    if new_each_time:
        made.append(CompileForward(backend="aot_eager"))
    learn.fit(2, 0.1, cbs=made[-1])
    assert not torch.equal(conv, start[0])
    assert sum(one.graphs for one in made) == 4
    assert sum(one.breaks for one in made) == 0
    assert all(one.seconds > 0 for one in made)


def test_code_is_kept_for_the_same_model_and_phase():
    compiled = CompileForward(backend="aot_eager")
    learn = make_learner()
    for _ in range(3):
        learn.fit(1, cbs=compiled)
    assert compiled.graphs == 2


def test_many_models_do_not_use_up_torchs_limit():
    for _ in range(10):  # torch gives up on a code after eight graphs
        compiled = CompileForward(backend="eager")
        make_learner().fit(1, cbs=compiled)
        assert compiled.graphs == 2


def test_trains_the_same_weights_as_eager():
    def weights(*cbs):
        learn = make_learner(opt_func=SGD)
        learn.fit(3, 0.05, cbs=list(cbs))
        return list(learn.model.parameters())

    for ours, theirs in zip(weights(CompileForward(backend="aot_eager")), weights()):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("run", ["validate", "get_preds"])
def test_validation_alone_stays_eager(run):
    learn = make_learner()
    compiled = CompileForward(backend="aot_eager")
    getattr(learn, run)(cbs=compiled)
    assert compiled.graphs == 0


def test_lr_find_works_and_nothing_remains(tmp_path):
    learn = make_learner(path=tmp_path)
    learn.add_cb(CompileForward(backend="aot_eager"))
    learn.lr_find(show_plot=False, num_it=12)
    assert learn.model._compiled_call_impl is None


def test_nothing_remains_after_an_exception():
    class Raising(Callback):
        def after_loss(self):
            raise RuntimeError("as asked")

    learn = make_learner()
    with pytest.raises(RuntimeError, match="as asked"):
        learn.fit(1, cbs=[CompileForward(backend="eager"), Raising()])
    assert learn.model._compiled_call_impl is None


def test_keys_stay_clean_and_copies_are_plain(tmp_path):
    """Saved and pickled within the fit: `_orig_mod.` keys, and compiled code in a pickle, fail elsewhere."""
    pickles = []

    class Pickle(Callback):
        def after_epoch(self):
            pickles.append(pickle.dumps(self.learn.model))

    learn = make_learner(path=tmp_path)
    keys = list(learn.model.state_dict())
    learn.fit(1, cbs=[CompileForward(backend="aot_eager"), SaveModelCallback(), Pickle()])
    assert list(torch.load(tmp_path / "models" / "model.pth", weights_only=True)) == keys
    plain = pickle.loads(pickles[0])
    assert list(plain.state_dict()) == keys
    assert type(plain) is nn.Sequential
    assert plain._compiled_call_impl is None


def test_with_autocast_and_channels_last():
    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = network()

        def forward(self, x):
            assert x.is_contiguous(memory_format=torch.channels_last)
            return self.net(x)

    learn = make_learner(Inner())
    compiled = CompileForward(backend="aot_eager")
    learn.fit(2, cbs=[Autocast("bf16"), ChannelsLast(), compiled])
    assert (compiled.graphs, compiled.breaks) == (2, 0)
    assert learn.model._compiled_call_impl is None


def test_hooks_added_between_fits_fire():
    learn, fired = make_learner(), []
    compiled = CompileForward(backend="eager")
    learn.fit(1, cbs=compiled)
    learn.model[0].register_forward_hook(lambda *_: fired.append(1))
    learn.fit(1, cbs=compiled)
    assert fired


def cifar_resnet(name):
    from models.cifar_resnet import CIFAR_RESNETS

    return CIFAR_RESNETS[name](2)


NETWORKS = {
    "resnet20_cifar": lambda: cifar_resnet("resnet20_cifar"),
    "resnet18_cifar": lambda: cifar_resnet("resnet18_cifar"),
    "resnet50_cifar": lambda: cifar_resnet("resnet50_cifar"),
    "resnet18": lambda: torchvision.models.resnet18(num_classes=2),
    "resnet50": lambda: torchvision.models.resnet50(num_classes=2),
    "tf_efficientnet_lite0": lambda: create_timm_model("tf_efficientnet_lite0", 2, pretrained=False)[0],
}
QUICK = ("resnet20_cifar",)


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in NETWORKS])
def test_no_graph_break_and_two_graphs(name):
    compiled = CompileForward(backend="eager")
    make_learner(NETWORKS[name](), size=32).fit(1, cbs=compiled)
    assert (compiled.graphs, compiled.breaks) == (2, 0)


@pytest.mark.slow
def test_inductor_counts_and_losses():
    """The CPU back end of inductor: frozen, then unfrozen, with partial batches; the losses are those of eager."""
    learn = make_learner(splitter=two_groups)
    eager = make_learner(splitter=two_groups)  # the seed gives both the same weights and order
    compiled = CompileForward()
    losses = []
    for one, cbs in ((learn, [compiled]), (eager, [])):
        one.freeze()
        one.fit(1, 1e-2, cbs=cbs)
        first = list(one.recorder.losses)
        one.unfreeze()
        one.fit(9, 1e-2, cbs=cbs)
        losses.append(first + list(one.recorder.losses))
    assert compiled.graphs == 4
    assert compiled.breaks == 0
    assert len(losses[0]) == 20
    torch.testing.assert_close(torch.stack(losses[0]), torch.stack(losses[1]), rtol=1e-4, atol=0)


def test_seconds_are_those_of_the_epoch_that_compiled():
    timer, compiled = EpochTimer(), CompileForward(backend="aot_eager")
    make_learner(cbs=[timer, CompileSeconds()]).fit(3, 0.1, cbs=compiled)
    first, *others = [row["time/compile"] for row in timer.rows]
    assert first == pytest.approx(compiled.seconds)
    assert first > 0
    assert others == [0, 0]
