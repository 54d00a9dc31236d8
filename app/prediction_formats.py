"""The forms in which ``app.predict`` writes its records: table, json, jsonl, csv.

    with output_stream(None) as stream:
        FORMATS["json"](records, stream, topk=5)

A record is ``{"file", "class", "probability", "topk": [{"class", "probability"}, ...]}``. Records are
written as they come.
"""

import csv
import io
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from app.outputs import printable, written

Record = dict[str, Any]
DIGITS = 6  # of a probability; float32 holds no more


def record(name: str, classes: list[str], probabilities: list[float], topk: int) -> Record:
    """The record of one image: its `topk` likeliest classes, the likeliest first."""
    best = sorted(zip(classes, probabilities), key=lambda pair: -pair[1])[:topk]
    top = [{"class": label, "probability": round(value, DIGITS)} for label, value in best]
    return {"file": name, **top[0], "topk": top}


@contextmanager
def output_stream(output: str | None) -> Iterator[TextIO]:
    """Standard output, or a file that is complete or not there.

    A file's name need not be valid Unicode: "backslashreplace" writes such bytes as JSON escapes them.
    """
    if output is None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")
        yield sys.stdout
        sys.stdout.flush()
        return
    with (
        written(Path(output)) as path,
        path.open("w", newline="", encoding="utf-8", errors="backslashreplace") as stream,
    ):
        yield stream


def write_table(records: Iterable[Record], stream: TextIO, topk: int) -> None:
    """``FILE: CLASS PROBABILITY, CLASS PROBABILITY, ...``"""
    for found in records:
        ranks = ", ".join(f"{top['class']} {top['probability']:.4f}" for top in found["topk"])
        stream.write(printable(f"{found['file']}: {ranks}") + "\n")


def write_json(records: Iterable[Record], stream: TextIO, topk: int) -> None:
    """One list, whatever the number of records."""
    separator = "["
    for found in records:
        stream.write(f"{separator}\n  {json.dumps(found, ensure_ascii=False)}")
        separator = ","
    stream.write("[]\n" if separator == "[" else "\n]\n")


def write_jsonl(records: Iterable[Record], stream: TextIO, topk: int) -> None:
    """One record a line."""
    for found in records:
        stream.write(json.dumps(found, ensure_ascii=False) + "\n")


def write_csv(records: Iterable[Record], stream: TextIO, topk: int) -> None:
    """``file,class,probability``, then ``class_2,probability_2`` and so on up to `topk`."""
    writer = csv.writer(stream)
    ranks = [column for rank in range(2, topk + 1) for column in (f"class_{rank}", f"probability_{rank}")]
    writer.writerow(["file", "class", "probability", *ranks])
    for found in records:
        writer.writerow([found["file"], *(value for top in found["topk"] for value in top.values())])


FORMATS = {"table": write_table, "json": write_json, "jsonl": write_jsonl, "csv": write_csv}
