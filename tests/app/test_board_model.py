"""The network's graph, and its embeddings of validation images, in TensorBoard.

python -m pytest tests/app/test_board_model.py
"""

import csv

import numpy as np
import pytest
import torch
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.graph_pb2 import GraphDef
from torch import nn
from torch.utils.tensorboard import SummaryWriter

from app.board_model import COMPONENTS, MOST, drawn, write_embeddings, write_graph
from app.evaluation.scores import Scores
from data import Sample

FOLDER = "00000/validation"
NAMES = ["\u732b", "caf\u00e9 \U0001f431", "tab\there"]


@pytest.fixture
def writer(tmp_path):
    with SummaryWriter(str(tmp_path)) as writer:
        yield writer


def test_some_are_drawn_by_a_seed():
    assert drawn(5, seed=1).all()
    assert drawn(3 * MOST, seed=1).sum() == MOST
    assert drawn(3 * MOST, seed=1).equal(drawn(3 * MOST, seed=1))
    assert not drawn(3 * MOST, seed=1).equal(drawn(3 * MOST, seed=2))


def test_names_in_any_script_and_a_picture_each(writer, tmp_path):
    wanted = torch.tensor([True, False, True, True])
    scores = Scores(torch.eye(4, 3), torch.tensor([0, 1, 1, 2]), NAMES, [Sample(tmp_path / "\ud800", "")] * 4)
    images = torch.stack([torch.full((3, 48, 48), value) for value in (0.0, 0.4, 1.2)])
    write_embeddings(writer, torch.randn(3, 100), images, scores, wanted)
    with open(tmp_path / FOLDER / "metadata.tsv", encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream, delimiter="\t"))
    file = f"{tmp_path}/\\ud800"
    assert rows == [
        ["class", "predicted", "file"],
        [NAMES[0], NAMES[0], file],
        [NAMES[1], "tab\\there", file],
        ["tab\\there", NAMES[0], file],
    ]
    sprite = np.asarray(Image.open(tmp_path / FOLDER / "sprite.png"))
    assert sprite.shape == (96, 96, 3)  # two by two
    assert [sprite[y, x, 0] for y, x in ((0, 0), (0, 48), (48, 0))] == [0, 102, 255]


def test_twice_into_one_run_says_nothing(writer, capsys):
    scores = Scores(torch.zeros(2, 3), torch.zeros(2).long(), NAMES, [Sample(None, "")] * 2)
    for _ in range(2):
        write_embeddings(writer, torch.randn(2, 9), torch.rand(2, 3, 48, 48), scores, torch.ones(2).bool())
    assert capsys.readouterr() == ("", "")


def test_distances_are_kept(writer, tmp_path):
    features = torch.randn(40, 8) @ torch.randn(8, 300) + 5  # of rank eight
    scores = Scores(torch.zeros(40, 3), torch.zeros(40).long(), NAMES, [Sample(None, "")] * 40)
    write_embeddings(writer, features, torch.rand(40, 3, 48, 48), scores, torch.ones(40).bool())
    written = torch.tensor(np.loadtxt(tmp_path / FOLDER / "tensors.tsv", dtype=np.float32))
    assert written.shape[1] <= COMPONENTS
    assert torch.allclose(torch.pdist(written), torch.pdist(features), rtol=1e-3)


def test_a_network_without_features_has_no_embeddings(writer, tmp_path):
    scores = Scores(torch.zeros(4, 3), torch.zeros(4).long(), NAMES, [Sample(None, "")] * 4)
    write_embeddings(writer, None, torch.rand(4, 3, 48, 48), scores, torch.ones(4).bool())
    assert not (tmp_path / FOLDER).exists()


def test_the_graph_is_that_of_evaluation_and_changes_nothing(writer, tmp_path, capsys):
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(16, 2)).train()
    write_graph(writer, model, size=4)
    writer.flush()
    graph = GraphDef.FromString(EventAccumulator(str(tmp_path)).Reload().Graph().SerializeToString())
    assert any("BatchNorm2d" in node.name for node in graph.node)
    assert model.training
    assert model[1].num_batches_tracked == 0
    assert capsys.readouterr() == ("", "")


def graph_of(folder):
    return GraphDef.FromString(EventAccumulator(str(folder)).Reload().Graph().SerializeToString())


def test_the_graph_is_that_of_the_whole_network(tmp_path):
    """As torch writes it of the network itself, weights, checks and all."""
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(64, 2)).eval()
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with SummaryWriter(str(tmp_path / "ours")) as ours, SummaryWriter(str(tmp_path / "torchs")) as torchs:
        write_graph(ours, model, size=4)
        torchs.add_graph(model, torch.zeros(1, 3, 4, 4))
    assert graph_of(tmp_path / "ours") == graph_of(tmp_path / "torchs")
    assert all(tensor.equal(weights[name]) for name, tensor in model.state_dict().items())


@pytest.mark.parametrize("bounds", [{"most_modules": 2}, {"most_parameters": 9}])
def test_a_large_network_has_none_and_one_line_says_so(writer, tmp_path, capsys, bounds):
    model = nn.Sequential(nn.Flatten(), nn.Linear(3, 2, bias=True))  # 3 modules, 8 parameters
    model.append(nn.Linear(2, 1, bias=False))  # one more, 2 more
    write_graph(writer, model, size=1, **bounds)
    writer.flush()
    assert not EventAccumulator(str(tmp_path)).Reload().Tags()["graph"]
    most_modules, most_parameters = {"most_modules": 450, "most_parameters": 150_000_000, **bounds}.values()
    assert capsys.readouterr() == (
        "",
        "TensorBoard gets no graph of the network, which is too large to be traced quickly: 4 modules and "
        f"10 parameters, of at most {most_modules:,} and {most_parameters:,}\n",
    )


def test_a_network_at_the_bounds_has_one(writer, tmp_path, capsys):
    model = nn.Sequential(nn.Flatten(), nn.Linear(3, 2), nn.Linear(2, 1, bias=False))
    write_graph(writer, model, size=1, most_modules=4, most_parameters=10)
    writer.flush()
    assert EventAccumulator(str(tmp_path)).Reload().Tags()["graph"]
    assert capsys.readouterr() == ("", "")


class Untraceable(nn.Module):
    def forward(self, images):
        return {"logits": images.sum(), 3: "three"}


def test_what_cannot_be_traced_is_warned_of(writer, capsys):
    write_graph(writer, Untraceable(), size=4)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("warning: TensorBoard has no graph of the network, which cannot be traced (")
    assert err.count("\n") == 1


def test_a_training_has_both(trained, colours_once):
    _, folder = trained
    with open(folder / FOLDER / "metadata.tsv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    with open(folder / "predictions.csv", newline="") as stream:
        expected = list(csv.DictReader(stream))
    assert [(row["class"], row["predicted"], row["file"]) for row in rows] == [
        (row["label"], row["predicted"], row["image"]) for row in expected
    ]
    # Noise around a colour: the picture of each is of the colour of its class.
    sprite = np.asarray(Image.open(folder / FOLDER / "sprite.png")).astype(float)
    side = sprite.shape[0] // 48
    for index, row in enumerate(rows):
        y, x = 48 * (index // side), 48 * (index % side)
        red, _, blue = sprite[y : y + 48, x : x + 48].mean((0, 1))
        assert (red > blue) == (row["class"] == "red")
    events = EventAccumulator(str(folder)).Reload()
    assert events.Tags()["graph"]
    assert {"run/device/text_summary", "run/data/text_summary"} <= set(events.Tags()["tensors"])
