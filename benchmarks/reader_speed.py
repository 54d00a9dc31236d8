"""How long does `read_image` take, against Pillow's own ``Image.open(path).convert("RGB")``?

OMP_NUM_THREADS=1 python benchmarks/reader_speed.py FOLDER

Over the photos below FOLDER, and over one JPEG of 3000 x 2000 pixels made here: at full size, and with
``for_size=224``, as a training at 224 pixels does. The two readers take turns, file by file, and
each number is the median of the rounds; the first round, which warms the disk cache, does not count.
"""

import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from PIL import Image

from data import read_image
from data.listing import image_files

ROUNDS = 5
PHOTOS = 200  # of the folder, drawn with a seed
LARGE = (3000, 2000)  # px
FOR_SIZE = 224  # px

Reader = Callable[[Path], object]


def by_pillow(path: Path) -> Image.Image:
    """What stock code does."""
    with Image.open(path) as image:
        return image.convert("RGB")


def by_us(path: Path) -> Image.Image:
    """`read_image` at full size."""
    return read_image(path)


def by_us_reduced(path: Path) -> Image.Image:
    """`read_image` as training calls it."""
    return read_image(path, for_size=FOR_SIZE)


def milliseconds(files: list[Path], readers: list[Reader]) -> list[float]:
    """Per reader, the median over the rounds of the time for one file on average."""
    rounds: list[list[float]] = []
    for _ in range(ROUNDS + 1):
        spent = [0.0] * len(readers)
        for path in files:
            for index, reader in enumerate(readers):
                start = time.perf_counter()
                reader(path)
                spent[index] += time.perf_counter() - start
        rounds.append(spent)
    return [1000 * median(spent) / len(files) for spent in zip(*rounds[1:])]


def large_jpeg(folder: Path) -> Path:
    """A photo-like picture: smooth shapes with fine noise, quality 90."""
    rng = np.random.default_rng(0)
    coarse = Image.fromarray(rng.integers(0, 256, (20, 30, 3), np.uint8)).resize(LARGE, Image.Resampling.BICUBIC)
    pixels = np.asarray(coarse, np.float32) + rng.normal(0, 8, (LARGE[1], LARGE[0], 1))
    path = folder / "large.jpg"
    Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(path, quality=90)
    return path


def main(argv: list[str]) -> int:
    """Print one row per set of files and reader."""
    if len(argv) != 1 or not Path(argv[0]).is_dir():
        print("usage: python benchmarks/reader_speed.py FOLDER", file=sys.stderr)
        return 2
    photos = image_files(Path(argv[0]))
    photos = random.Random(0).sample(photos, min(PHOTOS, len(photos)))
    readers = {"Pillow convert": by_pillow, "read_image": by_us, f"read_image for_size={FOR_SIZE}": by_us_reduced}
    print(f"{'files':<24}{'reader':<28}{'ms':>8}  of Pillow's")
    with tempfile.TemporaryDirectory() as folder:
        sets = {f"{len(photos)} photos": photos, f"JPEG {LARGE[0]}x{LARGE[1]}": [large_jpeg(Path(folder))] * 5}
        for name, files in sets.items():
            times = milliseconds(files, list(readers.values()))
            for reader, spent in zip(readers, times):
                print(f"{name:<24}{reader:<28}{spent:>8.2f}  {spent / times[0]:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
