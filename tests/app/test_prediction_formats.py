"""The forms of a prediction.

python -m pytest tests/app/test_prediction_formats.py
"""

import csv
import io
import json

import pytest

from app.prediction_formats import FORMATS, output_stream, record

CLASSES = ["cat", "dog", "zebra, striped"]
RECORDS = [record("a.jpg", CLASSES, [0.25, 0.1234567, 0.6265433], 2), record("ü b.jpg", CLASSES, [1.0, 0.0, 0.0], 2)]


def written(form, records):
    stream = io.StringIO()
    FORMATS[form](iter(records), stream, 2)
    return stream.getvalue()


def test_a_record_has_its_likeliest_class_and_the_others_in_order():
    assert RECORDS[0] == {
        "file": "a.jpg",
        "class": "zebra, striped",
        "probability": 0.626543,
        "topk": [{"class": "zebra, striped", "probability": 0.626543}, {"class": "cat", "probability": 0.25}],
    }


def test_of_equals_the_first_class_comes_first():
    tops = record("a.jpg", CLASSES, [0.25, 0.5, 0.25], 3)["topk"]
    assert [top["class"] for top in tops] == ["dog", "cat", "zebra, striped"]


def test_table():
    assert written("table", RECORDS) == ("a.jpg: zebra, striped 0.6265, cat 0.2500\nü b.jpg: cat 1.0000, dog 0.0000\n")


@pytest.mark.parametrize("count", [0, 1, 2])
def test_json_is_one_list_whatever_the_number(count):
    assert json.loads(written("json", RECORDS[:count])) == RECORDS[:count]


def test_jsonl_is_one_record_a_line():
    text = written("jsonl", RECORDS)
    assert [json.loads(line) for line in text.splitlines()] == RECORDS
    assert "ü b.jpg" in text


def test_csv_has_a_column_per_rank():
    rows = list(csv.reader(io.StringIO(written("csv", RECORDS))))
    assert rows == [
        ["file", "class", "probability", "class_2", "probability_2"],
        ["a.jpg", "zebra, striped", "0.626543", "cat", "0.25"],
        ["ü b.jpg", "cat", "1.0", "dog", "0.0"],
    ]


def test_a_file_is_whole_or_the_earlier_one(tmp_path):
    file = tmp_path / "out.csv"
    with output_stream(str(file)) as stream:
        stream.write("first")
    with pytest.raises(TypeError), output_stream(str(file)) as stream:
        FORMATS["table"]([RECORDS[0], None], stream, 2)
    assert file.read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
