"""`app.evaluate`: a model and labelled images in, its quality out.

python -m pytest tests/app/test_evaluate.py
"""

import csv
import io
import json
import shutil

import numpy as np
import pytest
from PIL import Image
from sklearn.metrics import classification_report, log_loss

from app.evaluate import main
from app.export import main as export
from app.predict import main as predict


@pytest.fixture
def evaluate(here, call, model, colours_once):
    """`app.evaluate` on the two colours, or on another source."""

    def evaluate(*argv, source=colours_once, model=model):
        return call(main, model, source, *argv)

    return evaluate


def measured(result):
    assert result.code == 0, result.err
    return json.loads(result.out)


@pytest.fixture
def hard(here, colours_once):
    """Four images of each colour in valid/, of which one lies in the wrong folder, and train/."""
    root = shutil.copytree(colours_once, here / "hard")
    for index in (4, 5):
        (root / "valid" / "red" / f"{index}.jpg").unlink()
        (root / "valid" / "blue" / f"{index}.jpg").unlink()
    (root / "valid" / "red" / "0.jpg").rename(root / "valid" / "blue" / "wrong.jpg")
    return root


def test_it_agrees_with_predictions_one_by_one(evaluate, hard, call, model):
    """The figures from app.predict's JSON, by scikit-learn; probabilities there have six digits."""
    found = measured(evaluate("--format", "json", source=hard))
    files = sorted((hard / "valid").glob("*/*.jpg"))
    said = [json.loads(call(predict, model, path, "--format", "json").out)[0] for path in files]
    true = [path.parent.name for path in files]
    report = classification_report(true, [record["class"] for record in said], output_dict=True)
    assert found["accuracy"] == report["accuracy"] < 1
    for entry in found["per_class"]:
        expected = report[entry["name"]]
        assert (entry["precision"], entry["recall"]) == (expected["precision"], expected["recall"])
        assert (entry["f1"], entry["support"]) == (expected["f1-score"], expected["support"])
    assert found["macro"]["f1"] == report["macro avg"]["f1-score"]
    rows = [[{top["class"]: top["probability"] for top in r["topk"]}[name] for name in ("blue", "red")] for r in said]
    assert found["log_loss"] == pytest.approx(log_loss(true, np.array(rows)), rel=1e-3)
    assert found["worst"][0]["file"] == str(hard / "valid" / "blue" / "wrong.jpg")
    assert found["confused"] == [{"true": "blue", "predicted": "red", "count": 1}]
    assert found["images"] == 8
    assert found["confusion_matrix"] == [[4, 1], [0, 3]]


def test_a_training_leaves_the_same(evaluate, trained, colours_once):
    found = measured(evaluate("--format", "json"))
    left = json.loads((trained[1] / "evaluation.json").read_text())
    assert left["log_loss"] == pytest.approx(found["log_loss"], abs=1e-5)
    for key in ("images", "accuracy", "accuracy_interval", "confusion_matrix", "per_class", "classes"):
        assert left[key] == found[key]


def test_table_is_the_default(evaluate, hard):
    code, out, err = evaluate(source=hard)
    assert code == 0
    assert out.splitlines()[:6] == [
        "class             precision  recall      F1  images",
        "blue                 1.0000  0.8000  0.8889       5",
        "red                  0.7500  1.0000  0.8571       3",
        "macro average        0.8750  0.9000  0.8730       8",
        "weighted average     0.9062  0.8750  0.8770       8",
        "",
    ]
    assert "\naccuracy           0.8750, 95% between 0.6250 and 1.0000 (percentile bootstrap, 10,000 " in out
    assert "\nmost often confused\n  blue taken for red: 1\n" in out
    assert f"\n  {hard}/valid/blue/wrong.jpg: blue taken for red with probability 0." in out
    assert err.splitlines()[-1] == f"data: {hard} (train/ and valid/; split valid): images: 8, files left out: 0"


def test_csv(evaluate, hard):
    result = evaluate("--format", "csv", source=hard)
    rows = list(csv.DictReader(io.StringIO(result.out)))
    assert [(row["kind"], row["name"]) for row in rows[:4]] == [
        ("class", "blue"),
        ("class", "red"),
        ("average", "macro"),
        ("average", "weighted"),
    ]
    calibration = ["expected_calibration_error", "calibration_low", "calibration_high"]
    figures = {row["name"]: float(row["value"]) for row in rows if row["kind"] == "figure"}
    assert list(figures) == ["accuracy", "accuracy_low", "accuracy_high", "log_loss", *calibration]
    assert (figures["accuracy"], rows[0]["recall"], rows[1]["support"]) == (0.875, "0.8", "3")


def test_minimum(evaluate, hard):
    code, out, err = evaluate("--min-accuracy", 0.9, source=hard)
    assert (code, out != "") == (1, True)
    assert err.splitlines()[-1] == "accuracy 0.875 is below --min-accuracy 0.9"
    assert evaluate("--min-accuracy", 0.875, source=hard).code == 0


def test_output(evaluate, here, hard):
    code, out, _ = evaluate("-o", "found.json", "--format", "json", source=hard)
    assert (code, out) == (0, "")
    assert json.loads((here / "found.json").read_text())["images"] == 8


@pytest.mark.parametrize("suffix", [".safetensors", ".json", pytest.param(".onnx", marks=pytest.mark.slow)])
def test_forms_of_a_model(evaluate, here, hard, call, model, suffix):
    other = model.with_suffix(suffix)
    if suffix == ".onnx":
        other = here / "model.onnx"
        assert call(export, model, "--to", "onnx", "-o", other, "--check", hard).code == 0
    expected, found = (measured(evaluate("--format", "json", source=hard, model=one)) for one in (model, other))
    assert found["confusion_matrix"] == expected["confusion_matrix"]
    assert found["log_loss"] == pytest.approx(expected["log_loss"], abs=1e-5)


def test_a_learner_that_is_trusted(evaluate, here, hard, model):
    alone = shutil.copy(model, here / "alone.pkl")  # without its description, which would be preferred
    expected = measured(evaluate("--format", "json", source=hard))
    found = measured(evaluate("--format", "json", "--trust", source=hard, model=alone))
    assert found["log_loss"] == pytest.approx(expected["log_loss"], abs=1e-5)


def test_mirror_images(evaluate, here, hard, colours_once):
    """Averaged over each image and its mirror image: equal for both, however the image lies."""
    mirrored = shutil.copytree(hard, here / "mirrored")
    lossless = shutil.copytree(hard, here / "lossless")
    for root, turn in ((mirrored, True), (lossless, False)):
        for path in root.rglob("*.jpg"):
            image = Image.open(path).transpose(Image.Transpose.FLIP_LEFT_RIGHT) if turn else Image.open(path)
            image.save(path.with_suffix(".png"))
            path.unlink()
    one, other = (measured(evaluate("--format", "json", "--tta", source=root)) for root in (lossless, mirrored))
    plain = measured(evaluate("--format", "json", source=lossless))
    assert one["log_loss"] == pytest.approx(other["log_loss"], abs=1e-6)
    assert one["log_loss"] != pytest.approx(plain["log_loss"], abs=1e-6)
    assert (one["tta"], plain["tta"]) == (True, False)


def test_classes_that_do_not_fit(evaluate, here, hard):
    (hard / "valid" / "red").rename(hard / "valid" / "green")
    code, out, err = evaluate(source=hard)
    assert code == 0
    assert "warning: 3 images left out, of classes that the model does not know: green\n" in err
    assert "warning: 1 of the model's 2 classes without images here: red\n" in err
    assert "\nred                  0.0000  0.0000  0.0000       0\n" in out  # one blue was taken for it
    (hard / "valid" / "blue").rename(hard / "valid" / "teal")
    code, out, err = evaluate(source=hard)
    assert (code, out) == (2, "")
    said = "none of the images' classes is one of the model's: the images have green, teal, the model knows blue, red"
    assert err.splitlines()[-1] == f"error: {said}"


def test_files_that_cannot_be_read_are_left_out_and_counted(evaluate, hard):
    (hard / "valid" / "red" / "empty.jpg").touch()
    code, _, err = evaluate(source=hard)
    assert code == 0
    assert err.endswith("split valid): images: 8, files left out: 1\n")
    found = measured(evaluate("--format", "json", source=hard))
    assert found["skipped"] == [{"file": str(hard / "valid" / "red" / "empty.jpg"), "reason": "empty file"}]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["m.pkl"], "SOURCE is missing: give a folder of images, or --csv FILE"),
        (["m.pkl", "x", "--min-accuracy", "90"], "argument --min-accuracy: 90 is not between 0 and 1"),
        (["m.pkl", "photos"], "m.pkl: no such file, give an exported model.pkl"),
        (["m.pkl", ".", "-o", "found.json"], "--output found.json lies inside the data set .: nothing is written"),
        (["m.pkl", "x", "-o", "none/found.json"], "--output none/found.json: the folder none does not exist"),
    ],
)
def test_usage(here, call, argv, said):
    code, out, err = call(main, *argv)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {said}")


def test_plots(evaluate, here, hard, colours_once):
    code, _, err = evaluate("--plots", "plots/new", source=hard)
    assert code == 0
    assert err.splitlines()[-1] == (
        "drawn: plots/new/reliability.png, plots/new/confusion_matrix.png, plots/new/worst_errors.png"
    )
    for path in (here / "plots" / "new").iterdir():
        assert min(Image.open(path).size) > 100
    assert (
        evaluate("--plots", "right").err.splitlines()[-1] == "drawn: right/reliability.png, right/confusion_matrix.png"
    )


def test_plots_have_a_place(evaluate, here, hard):
    (here / "file").touch()
    assert evaluate("--plots", "file") == (2, "", "error: --plots file is a file: give a folder\n")
    code, _, err = evaluate("--plots", hard / "plots", source=hard)
    said = f"error: --plots {hard}/plots lies inside the data set {hard}: nothing is written there, choose another\n"
    assert (code, err) == (2, said)
