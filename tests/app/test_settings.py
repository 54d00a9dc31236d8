"""Flags and settings files: which wins, and what is said of a bad file.

python -m pytest tests/app/test_settings.py
"""

import pytest
import yaml

from app.errors import UsageError
from app.settings import dump, parse
from app.train_args import build_parser


def settings(tmp_path, text, *argv):
    file = tmp_path / "mine.yaml"
    file.write_text(text, encoding="utf-8")
    return parse(build_parser(), ["--config", str(file), *argv])


def message_of(tmp_path, text):
    with pytest.raises(UsageError) as raised:
        settings(tmp_path, text)
    return str(raised.value).replace(f"{tmp_path}/", "")


def test_the_file_stands_under_the_flags(tmp_path):
    args = settings(tmp_path, "source: photos\nepochs: 5\nbatch_size: 16\nlr: 1e-3\n", "--epochs", "2", "-b=4")
    assert (args.source, args.epochs, args.batch_size, args.lr, args.seed) == ("photos", 2, 4, 1e-3, 42)


@pytest.mark.parametrize("text", ["cifar10", "CIFAR10", "Cifar-10"])
def test_cifar10_is_known_however_it_is_spelt(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert parse(build_parser(), [text]).source == "cifar10"
    (tmp_path / "CIFAR10").mkdir()  # a folder of the user's
    assert parse(build_parser(), ["CIFAR10"]).source == "CIFAR10"


def test_a_source_on_the_command_line_wins(tmp_path):
    assert settings(tmp_path, "source: photos\n", "others").source == "others"


@pytest.mark.parametrize(("text", "expected"), [("pretrained: false", False), ("pretrained: true", True), ("", None)])
def test_booleans(tmp_path, text, expected):
    assert settings(tmp_path, text).pretrained is expected


def test_a_flag_wins_over_a_boolean_of_the_file(tmp_path):
    assert settings(tmp_path, "pretrained: false", "--pretrained").pretrained is True


def test_a_number_names_a_folder(tmp_path):
    assert settings(tmp_path, "source: 2024\nname: 7").source == "2024"


def test_null_is_the_default(tmp_path):
    args = settings(tmp_path, "epochs: null\nseed: null\nname: null\nsource: null\n")
    assert (args.epochs, args.seed, args.name, args.source) == (None, 42, None, None)


@pytest.mark.parametrize("value", ["-5 degrees", "--epochs", "é"])
def test_any_text_is_a_value(tmp_path, value):
    assert settings(tmp_path, f"name: '{value}'\n").name == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("epoch: 3", "mine.yaml: unknown key 'epoch', did you mean 'epochs'?"),
        ("img-size: 3", "mine.yaml: unknown key 'img-size', did you mean 'img_size'?"),
        ("zzzz: 3", "mine.yaml: unknown key 'zzzz'"),
        ("3: 3", "mine.yaml: unknown key 3"),
        ("debug: true", "mine.yaml: unknown key 'debug'"),
        ("config: a.yaml", "mine.yaml: unknown key 'config'"),
        (
            "epochs: many",
            "mine.yaml: argument --epochs: invalid int value: 'many' (see python -m app.train --help)",
        ),
        ("lr: -1", "mine.yaml: argument --lr: -1 is not above zero (see python -m app.train --help)"),
        (
            "lr: fast",
            "mine.yaml: argument --lr: 'fast' is neither a number nor 'find' (see python -m app.train --help)",
        ),
        ("pretrained: maybe", "mine.yaml: pretrained: expected true or false, not 'maybe'"),
        ("epochs: [1, 2]", "mine.yaml: epochs: expected one value, not [1, 2]"),
        (f"epochs: {list(range(9))}", "mine.yaml: epochs: expected one value, not [0, 1, 2, 3, 4, 5, ...]"),
        (f"name: {'x' * 5000}", f"mine.yaml: name: '{'x' * 37}...{'x' * 38}' is longer than any value"),
        ("source: [1, 2]", "mine.yaml: source: expected one value, not [1, 2]"),
        ("name: 2024-13-45", "mine.yaml is not YAML: month must be in 1..12"),
        ("epochs: !!int x", "mine.yaml is not YAML: invalid literal for int() with base 10: 'x'"),
        ("epochs: 1\nseed: 2\nepochs: 3\n", "mine.yaml: epochs is given 2 times"),
        ('name: "a\\0b"', r"mine.yaml: name: 'a\x00b' holds a character that no argument may have"),
        ('source: "\\ud800"', r"mine.yaml: source: '\ud800' holds a character that no argument may have"),
        ("[1, 2]", "mine.yaml holds no settings: expected lines such as 'epochs: 5'"),
        ("just text", "mine.yaml holds no settings: expected lines such as 'epochs: 5'"),
    ],
)
def test_a_bad_file_is_named_with_what_is_wrong(tmp_path, text, message):
    assert message_of(tmp_path, text) == message


@pytest.mark.parametrize(
    "text",
    [
        "a: [",
        "a: " + "[" * 5000,
        "epochs: " + "9" * 5000,
        "epochs: !!timestamp x",
        "name: !!bool x",
        "\x00",
        "a: !!python/object:os.system {}",
    ],
)
def test_what_is_not_yaml_is_said_in_one_line(tmp_path, text):
    message = message_of(tmp_path, text)
    assert message.startswith("mine.yaml is not YAML: ")
    assert "\n" not in message


def test_bytes_that_are_no_text(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(UsageError, match=r"mine\.yaml is not YAML: 'utf-8' codec can't decode"):
        parse(build_parser(), ["--config", str(file)])


def test_a_missing_file():
    with pytest.raises(UsageError, match=r"^--config nosuch\.yaml: No such file or directory$"):
        parse(build_parser(), ["--config", "nosuch.yaml"])


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(UsageError) as raised:
        parse(build_parser(), ["--config", str(tmp_path)])
    assert str(raised.value) == f"--config {tmp_path}: Is a directory"


def test_what_is_dumped_can_be_read_back(tmp_path):
    file = tmp_path / "args.yaml"
    dump(file, {"source": "ü/photos", "epochs": 3, "lr": 1e-05, "wd": 0.0, "pretrained": False, "name": None})
    args = parse(build_parser(), ["--config", str(file)])
    assert (args.source, args.epochs, args.lr, args.wd, args.pretrained) == ("ü/photos", 3, 1e-5, 0.0, False)


def test_the_settings_of_a_run_reproduce_it(trained, train):
    _, folder = trained
    again, second = train("--config", folder / "args.yaml", "--output", "runs", "--export", "model.pkl")
    assert again.code == 0, again.err
    assert losses(second) == losses(folder)
    first, other = (yaml.safe_load((run / "args.yaml").read_text()) for run in (folder, second))
    differing = {key for key in first if first[key] != other[key]}
    assert differing == {"output", "export"}


def losses(folder):
    lines = (folder / "results.csv").read_text().splitlines()
    return [line.split(",")[:5] for line in lines]
