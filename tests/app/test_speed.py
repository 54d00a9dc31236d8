"""Precision, memory format and compiling: what is chosen where, why, and that it is written down.

python -m pytest tests/app/test_speed.py
"""

import copy
import csv
import json

import pytest
import torch
import yaml
from fastai.data.core import DataLoaders
from fastai.learner import Learner, load_learner
from torch import nn

from app import compiling, precision, speed_cache, trial
from app.compiling import choose_compile, layers, learn_from
from app.errors import UsageError
from app.precision import _on_cuda, choose_way
from app.trial import REPEATS, Way, Work, milliseconds, step_seconds, step_turns
from callbacks.compile import CompileForward

FASTEST = {
    Way("off", "contiguous"): 0.119,
    Way("off", "channels_last"): 0.060,
    Way("bf16", "contiguous"): 0.054,
    Way("bf16", "channels_last"): 0.045,
}


@pytest.fixture
def learn():
    data = [(torch.randn(3, 8, 8), torch.tensor(i % 2)) for i in range(16)]
    loaders = DataLoaders.from_dsets(data, data, bs=4, device=torch.device("cpu"))
    net = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Dropout(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)
    )
    return Learner(loaders, net, loss_func=nn.CrossEntropyLoss())


def work(images=100_000, device="cpu", **options):
    known = {"arch": "net", "size": 8, "batch_size": 4, "phases": 1, "frozen": False}
    return Work(images=images, device=torch.device(device), **(known | options))


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """Measurements that are told in advance, an empty cache, a CPU with bf16; the ways that were measured."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(precision, "cpu_features", lambda: ["avx512_bf16"])
    asked = []

    def step_seconds(learn, work, ways):
        asked.append(ways)
        return {way: FASTEST[way] for way in ways}

    monkeypatch.setattr(precision, "step_seconds", step_seconds)
    monkeypatch.setattr(precision, "step_turns", lambda *asked: [step_seconds(*asked)] * 3)
    return asked


def test_the_fastest_is_taken_with_its_numbers(learn, measured):
    assert choose_way(learn, work(), "auto", "auto") == (
        Way("bf16", "channels_last"),
        "measured, ms per image: float32 119, float32 channels_last 60, bf16 54, bf16 channels_last 45",
    )


def test_a_measurement_is_made_once(learn, measured):
    first = choose_way(learn, work(), "auto", "auto")
    count = len(measured)
    assert choose_way(learn, work(), "auto", "auto") == first
    assert len(measured) == count
    choose_way(learn, work(size=16), "auto", "auto")
    assert len(measured) > count


def test_what_another_process_disturbed_is_not_remembered(learn, measured, monkeypatch):
    disturbed = FASTEST | {Way("bf16", "channels_last"): 0.9}
    monkeypatch.setattr(precision, "step_turns", lambda *asked: [FASTEST, disturbed, FASTEST])
    way, reason = choose_way(learn, work(), "auto", "auto")
    assert way == Way("bf16", "channels_last")
    assert reason.endswith("; another was faster at times, so this is measured again by the next run")
    assert not speed_cache.cache_file().exists()


def test_the_safer_one_is_taken_when_little_is_gained(learn, measured, monkeypatch):
    monkeypatch.setitem(FASTEST, Way("off", "channels_last"), 0.046)
    assert choose_way(learn, work(), "auto", "auto")[0] == Way("off", "channels_last")


@pytest.mark.parametrize(
    ("amp", "memory_format", "expected"),
    [
        ("off", "auto", Way("off", "channels_last")),
        ("bf16", "contiguous", Way("bf16", "contiguous")),
        ("auto", "contiguous", Way("bf16", "contiguous")),
    ],
)
def test_what_is_asked_for_is_kept(learn, measured, amp, memory_format, expected):
    assert choose_way(learn, work(), amp, memory_format)[0] == expected


def test_a_cpu_without_bf16_says_so(learn, measured, monkeypatch):
    monkeypatch.setattr(precision, "cpu_features", lambda: [])
    way, reason = choose_way(learn, work(), "auto", "auto")
    assert way == Way("off", "channels_last")
    assert reason.endswith("; no bf16: the CPU has neither of avx512_bf16, amx_bf16")


def test_a_short_training_stays_plain(learn, measured):
    way, reason = choose_way(learn, work(images=100), "auto", "auto")
    assert way == Way("off", "contiguous")
    assert reason == "about 12 s of training are too few to measure others"


def test_fp16_is_refused_on_a_cpu(learn):
    with pytest.raises(UsageError) as raised:
        choose_way(learn, work(), "fp16", "auto")
    assert str(raised.value) == "--amp fp16: fp16 is not supported on cpu: use bf16 or full precision"


@pytest.mark.parametrize(
    ("capability", "expected"),
    [((9, 0), ("bf16", "channels_last")), ((7, 5), ("fp16", "channels_last")), ((6, 1), ("off", "contiguous"))],
)
def test_on_a_gpu_its_capability_decides(capability, expected):
    assert _on_cuda(capability, "auto", "auto")[0] == expected


def test_measuring_changes_neither_model_nor_random_state(learn):
    weights, state = copy.deepcopy(learn.model.state_dict()), torch.get_rng_state()
    learn.model[0].requires_grad_(False)
    seconds = step_seconds(learn, work(), list(FASTEST))
    assert set(seconds) == set(FASTEST)
    assert all(0 < value < 10 for value in seconds.values())
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(weights[name], tensor) for name, tensor in learn.model.state_dict().items())
    assert not learn.model[0].weight.requires_grad


@pytest.mark.parametrize("text", ["", "{", "[1]"])
def test_a_broken_cache_is_an_empty_one(monkeypatch, tmp_path, text):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    speed_cache.remember("a", 1)
    speed_cache.cache_file().write_text(text)
    assert speed_cache.recall("a") is None
    speed_cache.remember("b", 2)
    assert json.loads(speed_cache.cache_file().read_text()) == {"b": 2}


def test_a_cache_that_cannot_be_written_is_no_error(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    speed_cache.remember("a", 1)
    assert speed_cache.recall("a") is None


WAY = Way("off", "contiguous")


def test_compiling_is_estimated_and_learned_from(learn, measured, monkeypatch):
    monkeypatch.setattr(compiling, "cpp_compiler", lambda: "g++")
    model, much = learn.model, work(images=400_000)
    choice, reason = choose_compile("auto", model, much, WAY, 0.01)
    assert choice == "off"
    assert reason == (
        "100000 steps of 10 ms, 0% less compiled (from what is usual), "
        f"would save 0 s and cost {2 * layers(model)} s of compiling"
    )
    compiled = CompileForward()
    compiled.graphs, compiled.seconds = 2, 60.0
    assert learn_from(compiled, 0.008, model, much, WAY, 0.01) == (
        "compiled 2 graphs in 60 s; a step took 8 ms, 10 ms eagerly: 140 s saved in all"
    )
    assert learn_from(compiled, None, model, much, WAY, 0.01) == "compiled 2 graphs in 60 s"  # too few steps to judge
    choice, reason = choose_compile("auto", model, much, WAY, 0.01)
    assert choice == "on"
    assert "20% less compiled (as compiled here before), would save 200 s and cost 60 s" in reason
    assert choose_compile("auto", model, work(images=40_000), WAY, 0.01)[0] == "off"


@pytest.mark.parametrize(("seconds", "text"), [(0.00825, "8.25"), (0.1512, "151"), (68.5, "68500")])
def test_milliseconds_are_written_without_an_exponent(seconds, text):
    assert milliseconds(seconds) == text


def test_no_compiler_no_compiling(learn, monkeypatch):
    monkeypatch.setattr(compiling, "cpp_compiler", lambda: None)
    assert choose_compile("auto", learn.model, work(), WAY, 1.0) == (
        "off",
        "there is no C++ compiler (g++ or clang++)",
    )
    with pytest.raises(UsageError, match=r"^--compile on: there is no C\+\+ compiler \(g\+\+ or clang\+\+\); use"):
        choose_compile("on", learn.model, work(), WAY, 1.0)


def settings_of(folder):
    return yaml.safe_load((folder / "args.yaml").read_text())


def test_a_run_in_bf16_and_channels_last_exports_float32(colours, train):
    result, folder = train(colours, "--epochs", 1, "--amp", "bf16", "--memory-format", "channels_last")
    assert result.code == 0, result.err
    assert "precision: bf16 channels_last (as asked)" in result.err
    kept = settings_of(folder)
    assert (kept["amp"], kept["memory_format"], kept["compile"]) == ("bf16", "channels_last", "off")
    for parameter in load_learner(folder / "model.pkl").model.parameters():
        assert parameter.dtype == torch.float32
        assert parameter.is_contiguous()


def test_fp16_on_a_cpu_ends_in_one_line(colours, train):
    result, _ = train(colours, "--epochs", 1, "--amp", "fp16", "--device", "cpu")
    assert result.code == 2
    assert result.err.splitlines()[-1].startswith("error: --amp fp16: fp16 is not supported on cpu")


@pytest.mark.slow
def test_a_compiled_run_exports_clean_keys_and_equals_an_eager_one(colours, train, monkeypatch):
    """The export loads in stock fastai, and its keys are those of the network."""
    flags = ("--epochs", 2, "--batch-size", 8, "--amp", "off", "--memory-format", "contiguous")
    losses = []
    for compile in ("on", "off"):
        result, folder = train(colours, *flags, "--compile", compile)
        assert result.code == 0, result.err
        assert ("compiled 2 graphs in " in result.err) is (compile == "on")
        assert settings_of(folder)["compile"] == compile
        model = load_learner(folder / "model.pkl").model
        assert "conv1.weight" in model.state_dict()
        assert not [key for key in model.state_dict() if "_orig_mod" in key]
        with (folder / "results.csv").open() as file:
            losses.append([float(row["train_loss"]) for row in csv.DictReader(file)])
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


@pytest.mark.parametrize(("text", "expected"), [("compile: off", "off"), ("compile: on", "on"), ("amp: off", "off")])
def test_a_bare_on_or_off_in_a_settings_file(tmp_path, text, expected):
    """YAML takes them for booleans."""
    from app.settings import parse
    from app.train_args import build_parser

    (tmp_path / "mine.yaml").write_text(text)
    args = parse(build_parser(), ["--config", str(tmp_path / "mine.yaml")])
    assert getattr(args, text.partition(":")[0]) == expected


def test_cpus_of_one_name_with_and_without_bf16_are_told_apart(monkeypatch):
    names = set()
    for features in ([], ["avx512_bf16"], ["avx512_bf16", "amx_bf16"]):
        monkeypatch.setattr(speed_cache, "cpu_features", lambda features=features: features)
        names.add(speed_cache.machine(torch.device("cpu")))
    assert len(names) == 3


@pytest.mark.parametrize(("limit", "turns"), [(0.0, 1), (1e9, REPEATS)])
def test_measuring_ends_where_steps_are_slow(learn, monkeypatch, limit, turns):
    monkeypatch.setattr(trial, "LIMIT", limit)
    found = step_turns(learn, work(), list(FASTEST))
    assert [list(turn) for turn in found] == [list(FASTEST)] * turns
    assert all(seconds > 0 for turn in found for seconds in turn.values())
