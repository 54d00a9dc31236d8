"""Write the sample data set: scikit-learn's handwritten digits as PNG files in class folders.

    python -m data.make_digits                  # rewrites data/train/ and data/valid/, same bytes

It needs scikit-learn, which holds the digits; reading the sample does not. See ``data/README.md``.
"""

from pathlib import Path

import numpy as np
from PIL import Image

BRIGHTEST = 16  # the source counts the inked pixels in blocks of 4 x 4
SIDE = 32  # as scanned, before those blocks were counted; 8 px is too small to look at
VALID_SHARE = 0.2
SEED = 0


def valid_indices(labels: np.ndarray) -> np.ndarray:
    """Choose the validation images: the same share of each class, rounded, at random.

    Parameters
    ----------
    labels : np.ndarray
        Integers of shape (n,).

    Returns
    -------
    np.ndarray
        Sorted int64 indices into `labels`.
    """
    # RandomState, as its stream is frozen for good; default_rng's may change with NumPy.
    random = np.random.RandomState(SEED)
    chosen = []
    for label in np.unique(labels):
        rows = random.permutation(np.flatnonzero(labels == label))
        chosen.append(rows[: round(VALID_SHARE * len(rows))])
    return np.sort(np.concatenate(chosen))


def to_image(digit: np.ndarray) -> Image.Image:
    """Turn an (8, 8) array of 0 to 16, ink bright, into an 8-bit grey image of `SIDE` pixels."""
    grey = np.round(digit * (255 / BRIGHTEST)).astype(np.uint8)
    # Bicubic, as strokes stay strokes; repeated pixels would give a model edges of squares.
    return Image.fromarray(grey).resize((SIDE, SIDE), Image.Resampling.BICUBIC)


def write(root: Path) -> dict[str, int]:
    """Write ``train/<digit>/digit_<index>.png`` and the like under ``valid/``, into `root`.

    Files of those names are replaced, others left alone.

    Parameters
    ----------
    root : Path
        Made if it is missing.

    Returns
    -------
    dict[str, int]
        How many files each split got.

    Raises
    ------
    ModuleNotFoundError
        When scikit-learn is not installed.
    """
    from sklearn.datasets import load_digits

    source = load_digits()
    valid = set(valid_indices(source.target).tolist())
    counts = {"train": 0, "valid": 0}
    for index, (digit, label) in enumerate(zip(source.images, source.target, strict=True)):
        split = "valid" if index in valid else "train"
        path = root / split / str(label) / f"digit_{index:04d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        to_image(digit).save(path, optimize=True)
        counts[split] += 1
    return counts


if __name__ == "__main__":
    folder = Path(__file__).parent
    for split, count in write(folder).items():
        print(f"{folder / split}: {count} images")
