"""A CSV file that says which image has which label, and perhaps which split, instead of folders.

    layout = read_table(Path("labels.csv"), root=Path("photos/"))

The first line names the columns, in any case: ``path,label`` or ``path,label,split``. Paths are relative to `root`, or
absolute. Commas, semicolons and tabs separate. A split column called ``is_valid``, as fastai's, says true or false.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from data.counting import counted
from data.errors import DataError
from data.folder import TEST, VALID_NAMES, Classes, Layout

COLUMNS = ("path", "label", "split")
SEPARATORS = ",;\t"
# What a cell of the split column may say, and one of a column whose name asks whether an image is for validation.
# Of any other column, `is_train` say, nobody knows what true means.
SPLITS = {"train": "train", "training": "train"} | {n: n for n in VALID_NAMES}
ANSWERS = {"false": "train", "0": "train", "true": "valid", "1": "valid"}
QUESTIONS = ("is_valid", "is_val", "is_validation", "valid", "val", "validation")


def read_table(
    file: Path, root: Path, columns: Sequence[str] | None = None, held_out: Sequence[str] = VALID_NAMES
) -> Layout:
    """Read the layout that `file` describes; whether the images exist is not looked at.

    Parameters
    ----------
    root
        What relative paths start from.
    columns
        The names of the columns of the path, the label and, when there are three, the split. None for
        `COLUMNS`, whose split may be absent.
    held_out
        The splits that may be used to validate; the first that occurs is.

    Returns
    -------
    Layout
        As of a folder: of ``valid``, ``val``, ``validation`` and ``test``, the first that occurs is used.

    Raises
    ------
    DataError
        The file cannot be read, lacks a column, or a line lacks a value; the message names the line.
    """
    layout = Layout(splits={}, sentence=f"labels of {file.name}")
    splits: dict[str, Classes] = {}
    seen: set[tuple[str, str, str]] = set()
    copies = 0
    for line, path, label, split in _rows(file, columns):
        for name, cell in zip(COLUMNS, (path, label, split), strict=True):
            if not cell:
                raise DataError(f"{file}, line {line}: no {name}")
        row = (path, label, _split(split, columns, f"{file}, line {line}"))
        if row in seen:
            copies += 1
            continue
        seen.add(row)
        splits.setdefault(row[2], {}).setdefault(label, []).append(root / path)
    if "train" not in splits:
        raise DataError(f"{file} has no line for training" if splits else f"{file} has no line below its header")
    layout.splits["train"] = splits["train"]
    present = [name for name in held_out if name in splits]
    if present:
        layout.splits["valid"] = splits[present[0]]
    for name in present[1:]:
        images = f"{counted(sum(map(len, splits[name].values())), 'image')} of split {name!r}"
        if name == TEST:
            layout.remarks.append(f"{images} kept out of the training: app.evaluate --split test measures on them")
        else:
            layout.notices.append(f"{images} ignored: {present[0]!r} is used to validate")
    if copies:
        layout.notices.append(f"{counted(copies, 'line')} of {file} repeated: ignored")
    return layout


def _split(cell: str, columns: Sequence[str] | None, where: str) -> str:
    """The split that a cell names, or that it answers where its column is a question."""
    asked = columns is not None and columns[-1].casefold() in QUESTIONS
    known = SPLITS | ANSWERS if asked else SPLITS
    if cell.lower() in known:
        return known[cell.lower()]
    hint = "; true and false, 1 and 0 are read in a column called is_valid" if cell.lower() in ANSWERS else ""
    raise DataError(f"{where}: the split {cell!r} is none of {', '.join(('train', *VALID_NAMES))}{hint}")


def _rows(file: Path, columns: Sequence[str] | None) -> Iterator[tuple[int, str, str, str]]:
    """Line number, path, label and split (train where there is no such column) of each line with content."""
    try:
        stream = io.StringIO(file.read_bytes().decode("utf-8-sig"), newline="")  # a pipe can be read only once
        header = stream.readline()
        stream.seek(0)
        reader = csv.reader(stream, delimiter=max(SEPARATORS, key=header.count))
        names = [name.strip() for name in next(reader, [])]
        places = _places(file, names, columns)
        for cells in reader:
            if any(cell.strip() for cell in cells):
                cells += [""] * (len(names) - len(cells))
                path, label, *split = (cells[place].strip() for place in places)
                yield reader.line_num, path, label, *(split or ["train"])
    except FileNotFoundError:
        raise DataError(f"--csv {file}: no such file") from None
    except IsADirectoryError:
        raise DataError(f"--csv {file} is a folder") from None
    except UnicodeDecodeError:
        raise DataError(f"{file} is not UTF-8 text: save it as CSV UTF-8") from None
    except csv.Error as error:
        raise DataError(f"{file} is not a CSV file: {error}") from None


def _places(file: Path, names: list[str], columns: Sequence[str] | None) -> list[int]:
    folded = [name.casefold() for name in names]
    wanted = COLUMNS[: 3 if COLUMNS[2] in folded else 2] if columns is None else columns
    for name in wanted:
        if name.casefold() not in folded:
            found = ", ".join(names[:10]) or "nothing"
            raise DataError(
                f"{file} has no column {name!r}, only {found}: name them with --csv-columns path,label,split"
            )
    return [names.index(name) if name in names else folded.index(name.casefold()) for name in wanted]
