"""Is every file of a folder of strange images read right, or left out with the right reason?

python benchmarks/check_messy.py FOLDER

What is right stands in ``messy_expectations.tsv`` beside this file: size and mean colour within a tolerance, or
what the reason has to mention (one of several, separated by commas), or both where it depends on what is
installed. It was written from the files: with libjpeg, libpng and giflib through torchvision, OpenCV, tifffile,
imagecodecs and pillow-heif, and by hand for TGA; Pillow, which this project reads with, was not asked.

Three ways are checked alike: the reader by itself; `app.predict`, up to the network, given each file by name;
`app.train`, up to the network, given the folder as a class.
"""

import csv
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from PIL import Image

from app.reading import read_ahead
from data import ImageError, read_image
from data.audit import audit
from data.transforms import OpenImage

EXPECTATIONS = Path(__file__).with_name("messy_expectations.tsv")
Seen = Image.Image | str  # the picture, or why there is none


def by_reader(path: Path) -> Seen:
    """What `read_image` makes of a file."""
    try:
        return read_image(path)
    except ImageError as error:
        return str(error).removeprefix(f"{path}: ")


def by_predict(folder: Path) -> dict[str, Seen]:
    """What reaches the network of `app.predict`, or what it says instead, for each name."""
    read = read_ahead([(path, path) for path in folder.iterdir()], prepare=lambda image: image, for_size=None)
    return {
        path.name: str(image).removeprefix(f"{path}: ") if isinstance(image, ImageError) else image
        for path, image in read
    }


def by_train(folder: Path) -> dict[str, Seen]:
    """What reaches the network of `app.train`, or why a file is left out, for each name."""
    with tempfile.TemporaryDirectory() as root:
        link = Path(root, "train", "messy")
        link.parent.mkdir()
        link.symlink_to(folder.resolve(), target_is_directory=True)
        found = audit(root, remember=False)
        read = OpenImage()
        seen: dict[str, Seen] = {item.path.name: read(item.path) for item in found.kept}
        seen |= {path.name: reason for path, reason in found.skipped}
    return {path.name: seen.get(path.name, "hidden") for path in folder.iterdir()}


def verdict(expected: dict[str, str], seen: Seen) -> str:
    """Empty when it is right, else what is wrong."""
    if isinstance(seen, str):
        words = [word for word in expected["reason"].split(",") if word]
        return "" if any(word in seen for word in words) else f"left out: {seen}"
    if not expected["width"]:
        return f"read, {seen.width}x{seen.height}"
    size = (int(expected["width"]), int(expected["height"]))
    if seen.size != size or seen.mode != "RGB":
        return f"{seen.mode} of {seen.width}x{seen.height}"
    colour = np.asarray(seen).reshape(-1, 3).mean(axis=0)
    wanted = [float(expected[name]) for name in ("red", "green", "blue")]
    far = np.abs(colour - wanted).max() > float(expected["tolerance"])
    return f"colour {' '.join(f'{value:.1f}' for value in colour)}" if far else ""


def main(argv: list[str]) -> int:
    """Check each file of a folder that has an expectation; 1 when one is wrong or missing."""
    if len(argv) != 1 or not Path(argv[0]).is_dir():
        print("usage: python benchmarks/check_messy.py FOLDER", file=sys.stderr)
        return 2
    folder = Path(argv[0])
    with EXPECTATIONS.open(encoding="utf-8", newline="") as stream:
        expectations = list(csv.DictReader(stream, delimiter="\t"))
    trained, predicted = by_train(folder), by_predict(folder)
    wrong = 0
    for expected in expectations:
        path = folder / expected["file"]
        if path.name not in trained:
            print(f"{path.name}: not in {folder}")
            wrong += 1
            continue
        ways = {"reader": by_reader(path), "predict": predicted[path.name], "train": trained[path.name]}
        found = {way: verdict(expected, seen) for way, seen in ways.items()}
        wrong += any(found.values())
        for way, text in found.items():
            if text:
                print(f"{path.name}: {way}: {text}")
    others = sorted(set(trained) - {expected["file"] for expected in expectations})
    print(f"{len(expectations) - wrong} of {len(expectations)} files are right", end="")
    print(f"; without expectation: {', '.join(others)}" if others else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
