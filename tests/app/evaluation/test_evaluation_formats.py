"""How an evaluation is written down: python -m pytest tests/app/evaluation/test_evaluation_formats.py"""

import io
import json
from dataclasses import replace
from unicodedata import east_asian_width

import pytest

from app.evaluation.evaluation_formats import FORMATS, Evaluation, save_summary
from app.evaluation.metrics import measure


@pytest.fixture
def written(noisy_scores):
    def written(form, names=None, **options):
        scores = noisy_scores(**options)
        scores = replace(scores, classes=names or scores.classes)
        stream = io.StringIO()
        FORMATS[form](Evaluation(scores, measure(scores), {"model": "m.pkl"}), stream)
        return stream.getvalue()

    return written


def test_columns_stand_below_each_other_in_a_terminal(written):
    """Chinese, Arabic, emoji, an accent of its own, sixty letters, and what would colour a terminal."""
    names = ["\u732b", "\u0642\u0637\u0629", "\U0001f431", "cafe\u0301", "x" * 60, "\x1b[31mred"]
    rows = written("table", names, classes=6).splitlines()[:9]
    shown = [sum(2 if east_asian_width(c) in "WF" else c != "\u0301" for c in row) for row in rows]
    assert set(shown) == {60 + len("  precision  recall      F1  images")}
    assert rows[6].startswith("\\x1b[31mred ")


def test_the_table_ends_what_is_long(written):
    out = written("table", images=300, classes=12)
    said = json.loads(written("json", images=300, classes=12))
    assert f"  and {len(said['confused']) - 10} more pairs (--format json has all)\n" in out
    assert f"top-5 accuracy     {said['top5_accuracy']:.4f}\n" in out
    assert out.count(" with probability ") == 5


def test_json_has_a_line_for_each_row(written, noisy_scores, tmp_path):
    out = written("json", classes=8)
    found = json.loads(out)
    assert (found["model"], len(found["confusion_matrix"]), len(found["worst"])) == ("m.pkl", 8, 20)
    assert out.count("\n") < 150
    save_summary(measure(noisy_scores(classes=8)), tmp_path / "evaluation.json")
    saved = json.loads((tmp_path / "evaluation.json").read_text())
    assert saved == {key: value for key, value in found.items() if key not in ("model", "worst")}
