"""Labels from a CSV file: its columns, its splits, and what it may not be.

python -m pytest tests/data/test_table.py
"""

import os
from pathlib import Path

import pytest

from data.errors import DataError
from data.table import read_table

ROOT = Path("photos")


@pytest.fixture
def table(tmp_path):
    def table(text, columns=None, encoding="utf-8"):
        file = tmp_path / "labels.csv"
        file.write_bytes(text.encode(encoding))
        return read_table(file, ROOT, columns)

    return table


@pytest.fixture
def refused(table, tmp_path):
    def refused(text, columns=None, encoding="utf-8"):
        with pytest.raises(DataError) as caught:
            table(text, columns, encoding)
        return str(caught.value).replace(str(tmp_path / "labels.csv"), "labels.csv")

    return refused


def test_path_and_label(table):
    layout = table("path,label\na/1.jpg,cat\nb.jpg,dog\n/abs/c.jpg,cat\n")
    assert layout.splits == {"train": {"cat": [ROOT / "a/1.jpg", Path("/abs/c.jpg")], "dog": [ROOT / "b.jpg"]}}
    assert (layout.sentence, layout.notices, layout.skipped) == ("labels of labels.csv", [], [])


def test_split(table):
    layout = table("label,split,path,other\ncat,train,1.jpg,x\ndog,Train,2.jpg,\ncat,VAL,3.jpg,y\n")
    assert layout.splits == {
        "train": {"cat": [ROOT / "1.jpg"], "dog": [ROOT / "2.jpg"]},
        "valid": {"cat": [ROOT / "3.jpg"]},
    }


def test_of_several_held_out_splits_the_first_is_used(table):
    lines = ("1.jpg,cat,train", "2.jpg,cat,test", "3.jpg,cat,val", "4.jpg,dog,test", "5.jpg,dog,validation")
    layout = table("\n".join(["path,label,split", *lines, ""]))
    assert layout.splits["valid"] == {"cat": [ROOT / "3.jpg"]}
    assert layout.notices == ["1 image of split 'validation' ignored: 'val' is used to validate"]
    assert layout.remarks == [
        "2 images of split 'test' kept out of the training: app.evaluate --split test measures on them"
    ]


def test_columns_by_name(table):
    text = "image_id;species;is_valid\n1.jpg;cat;False\n2.jpg;cat;True\n"
    layout = table(text, ["image_id", "species", "is_valid"])
    assert layout.splits == {"train": {"cat": [ROOT / "1.jpg"]}, "valid": {"cat": [ROOT / "2.jpg"]}}
    assert "valid" not in table("split,path,label\nno,1.jpg,cat\n", ["path", "label"]).splits


@pytest.mark.parametrize(("column", "no", "yes"), [("is_valid", "0", "1"), ("Valid", "false", "TRUE")])
def test_a_column_may_ask_whether_an_image_is_for_validation(table, column, no, yes):
    layout = table(f"path,label,{column}\n1.jpg,cat,{no}\n2.jpg,cat,{yes}\n", ["path", "label", column])
    assert layout.splits == {"train": {"cat": [ROOT / "1.jpg"]}, "valid": {"cat": [ROOT / "2.jpg"]}}


@pytest.mark.parametrize(("column", "cell"), [("is_train", "True"), ("is_train", "1"), ("split", "False")])
def test_an_answer_to_another_question_is_refused(table, column, cell):
    text = f"path,label,{column}\n1.jpg,cat,{cell}\n"
    known = "none of train, valid, val, validation, test; true and false, 1 and 0 are read in a column called is_valid"
    with pytest.raises(DataError, match=f"line 2: the split '{cell}' is {known}$"):
        table(text, ["path", "label", column])


def test_columns_in_any_case(table):
    layout = table("Path,LABEL,Split\n1.jpg,cat,train\n2.jpg,cat,valid\n")
    assert layout.splits == {"train": {"cat": [ROOT / "1.jpg"]}, "valid": {"cat": [ROOT / "2.jpg"]}}
    # The exact name comes first.
    assert table("Id,id,label\nx,1.jpg,cat\n", ["id", "Label"]).splits == {"train": {"cat": [ROOT / "1.jpg"]}}


def test_a_pipe_is_read_once():
    reading, writing = os.pipe()
    os.write(writing, b"path,label\n1.jpg,cat\n")
    os.close(writing)
    layout = read_table(Path(f"/dev/fd/{reading}"), ROOT)
    os.close(reading)
    assert layout.splits == {"train": {"cat": [ROOT / "1.jpg"]}}


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_as_spreadsheets_write_it(table, separator):
    lines = [("path", " label"), ('"1, one.jpg"', " été "), ("", "")]
    layout = table("\ufeff" + "".join(separator.join(line) + "\r\n" for line in lines))
    assert layout.splits == {"train": {"été": [ROOT / "1, one.jpg"]}}


def test_repeated_lines(table):
    layout = table("path,label\n1.jpg,cat\n1.jpg,cat\n1.jpg,dog\n")
    assert layout.splits == {"train": {"cat": [ROOT / "1.jpg"], "dog": [ROOT / "1.jpg"]}}
    assert layout.notices[0].startswith("1 line of ")
    assert layout.notices[0].endswith("labels.csv repeated: ignored")


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("", None, "labels.csv has no column 'path', only nothing: name them with --csv-columns path,label,split"),
        (
            "file,label\n",
            None,
            "labels.csv has no column 'path', only file, label: name them with --csv-columns path,label,split",
        ),
        (
            "path,label\n1.jpg,cat\n",
            ["path", "label", "split"],
            "labels.csv has no column 'split', only path, label: name them with --csv-columns path,label,split",
        ),
        ("path,label\n", None, "labels.csv has no line below its header"),
        ("path,label,split\n1.jpg,cat,valid\n", None, "labels.csv has no line for training"),
        ("path,label\n1.jpg,cat\n2.jpg\n", None, "labels.csv, line 3: no label"),
        ("path,label\n,cat\n", None, "labels.csv, line 2: no path"),
        ("path,label,split\n1.jpg,cat,train\n2.jpg,cat,\n", None, "labels.csv, line 3: no split"),
        (
            "path,label,split\n1.jpg,cat,later\n",
            None,
            "labels.csv, line 2: the split 'later' is none of train, valid, val, validation, test",
        ),
    ],
)
def test_what_is_refused(refused, text, columns, message):
    assert refused(text, columns) == message


def test_not_text(refused, tmp_path):
    assert refused("path,label\n\xe9.jpg,cat\n", None, "latin1") == "labels.csv is not UTF-8 text: save it as CSV UTF-8"
    with pytest.raises(DataError, match=r"^--csv .*none\.csv: no such file$"):
        read_table(tmp_path / "none.csv", ROOT)
    with pytest.raises(DataError, match=r"is a folder$"):
        read_table(tmp_path, ROOT)
