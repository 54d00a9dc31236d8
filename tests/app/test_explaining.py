"""``--explain``: a picture per image, none over another, and one line where there is nothing to explain by.

python -m pytest tests/app/test_explaining.py
"""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from app import evaluate, predict
from app.explaining import SIDE, overlay


@pytest.fixture
def model(trained):
    return trained[1] / "model.pkl"


def test_predict_draws_each_image_and_names_the_picture(model, colours, call, here):
    image = next((colours / "valid").rglob("0.jpg"))
    twin = here / "other" / "0.jpg"
    twin.parent.mkdir()
    shutil.copy(image, twin)
    code, out, err = call(predict.main, model, image, twin, "--explain", "why", "--format", "json")
    assert code == 0, err
    assert [found["explanation"] for found in json.loads(out)] == ["why/0.png", "why/0-2.png"]
    assert err.splitlines()[-1] == "drawn: 2 in why"
    with Image.open(here / "why" / "0.png") as picture:
        assert picture.size == (2 * SIDE, SIDE)
    plain = call(predict.main, model, image, "--format", "json").out
    assert "explanation" not in plain


def test_evaluate_draws_the_worst_errors_and_right_ones(model, colours, call, here):
    code, _, err = call(evaluate.main, model, colours, "--explain", "why")
    assert code == 0, err
    drawn = sorted(path.name for path in (here / "why").iterdir())
    assert len(drawn) == 12  # all images there are
    assert {name.partition("-")[0] for name in drawn} <= {"right", "wrong"}


def test_refusals(model, colours, call, here):
    image = next(colours.rglob("0.jpg"))
    code, out, err = call(predict.main, model, image, "--explain", "why", "--trust", "--format", "json")
    assert code == 0, err  # with its description it is not unpickled
    lonely = here / "lonely.pkl"
    shutil.copy(model, lonely)
    code, out, err = call(predict.main, lonely, image, "--explain", "why", "--trust")
    assert (code, out) == (2, "")
    expected = f"error: --explain: needs a model.pkl or .safetensors of app.train, without --trust, not {lonely}"
    assert err.splitlines()[-1] == expected


@pytest.mark.parametrize(("command", "flag"), [(predict, "--explain"), (evaluate, "--explain"), (evaluate, "--plots")])
@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ("taken", "taken is a file: give a folder"),
        ("taken/why", "taken/why: {here}/taken is a file: give a folder"),
        ("photos/why", "photos/why lies inside the data set photos: nothing is written there, choose another"),
    ],
)
def test_a_place_without_use_is_refused_before_the_model_is_looked_at(command, flag, folder, said, call, here):
    (here / "taken").touch()
    (here / "photos").mkdir()
    expected = f"error: {flag} {said.format(here=here)}\n"
    assert call(command.main, "none.pkl", "photos", flag, folder) == (2, "", expected)


def test_the_heat_lies_over_the_right_half():
    image, heat = Image.new("RGB", (8, 8), (10, 200, 30)), np.zeros((8, 8), np.float32)
    heat[2, 6] = 1
    pixels = np.asarray(overlay(image, heat).resize((16, 8), Image.Resampling.BOX), int)
    changed = np.abs(pixels - (10, 200, 30)).sum(2)
    assert divmod(changed.argmax(), 16) == (2, 8 + 6)
    assert changed[:, :8].max() == 0


def test_fastai_is_imported_for_an_explanation_alone(model, colours, here):
    image = next(colours.rglob("0.jpg"))
    code = (
        "import sys; from app.predict import main; main(sys.argv[1:]); print('fastai' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, model, image], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "False"
