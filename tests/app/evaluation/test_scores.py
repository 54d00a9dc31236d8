"""What a model says of labelled images: python -m pytest tests/app/evaluation/test_scores.py"""

import csv
import json

import pytest
import torch

import data
from app.evaluation.scores import Scores
from app.predict import main as predict


def scores(logits, targets):
    samples = [data.Sample(None, "")] * len(targets)
    return Scores(torch.tensor(logits), torch.tensor(targets), ["a", "b"], samples)


def test_accuracy_and_worst_errors():
    found = scores([[2.0, 0.0], [0.0, 1.0], [0.0, 3.0], [1.0, 0.0]], [0, 0, 0, 1])
    assert found.accuracy == 0.25
    assert found.worst(10) == [2, 1, 3]  # losses 3.05, 1.313, 1.313: of equals the earlier first
    assert found.worst(1) == [2]
    assert found.losses[0].item() == pytest.approx(0.126928)


def test_predictions_of_a_run_are_those_of_the_exported_model(trained, call, colours_once):
    """Float32 against float32, 1e-5; every validation image, in order."""
    folder = trained[1]
    with open(folder / "predictions.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    said = json.loads(call(predict, folder / "model.pkl", *(row["image"] for row in rows), "--format", "json").out)
    assert len(rows) == len(list((colours_once / "valid").rglob("*.jpg"))) == len(said)
    for row, record in zip(rows, said):
        probabilities = {entry["class"]: entry["probability"] for entry in record["topk"]}
        assert row["image"].split("/")[-2] == row["label"]
        assert probabilities[row["predicted"]] == max(probabilities.values())
        for column, name in (("probability", row["predicted"]), ("probability_of_label", row["label"])):
            assert float(row[column]) == pytest.approx(probabilities[name], abs=1e-5)
