"""The sample data set in the checkout, and the script that writes it.

python -m pytest tests/data/test_sample.py
"""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from data import make_digits

SAMPLE = Path(make_digits.__file__).parent
DIGITS = [str(digit) for digit in range(10)]
SPLITS = {"train": 1438, "valid": 359}


@pytest.fixture(scope="module")
def rewritten(tmp_path_factory):
    pytest.importorskip("sklearn")
    root = tmp_path_factory.mktemp("digits")
    assert make_digits.write(root) == SPLITS
    return root


def names(root: Path) -> list[str]:
    return sorted(
        path.relative_to(root).as_posix() for split in SPLITS for path in (root / split).rglob("*") if path.is_file()
    )


@pytest.mark.parametrize("split", SPLITS)
def test_each_split_has_ten_classes_and_its_share(split):
    assert sorted(folder.name for folder in (SAMPLE / split).iterdir()) == DIGITS
    assert len(list((SAMPLE / split).glob("*/*"))) == SPLITS[split]


def test_each_source_image_is_in_one_split_only():
    assert sorted(Path(name).name for name in names(SAMPLE)) == [f"digit_{index:04d}.png" for index in range(1797)]


def test_files_are_small_grey_png_images():
    for name in names(SAMPLE):
        with Image.open(SAMPLE / name) as image:
            image.load()
        assert (image.format, image.mode, image.size) == ("PNG", "L", (32, 32)), name


def test_the_readme_states_the_counts():
    text = (SAMPLE / "README.md").read_text(encoding="utf-8")
    for split, count in SPLITS.items():
        each = [str(len(list((SAMPLE / split / digit).iterdir()))) for digit in DIGITS]
        assert f"| `{split}/` | {' | '.join(each)} | {count} |" in text


def test_the_script_writes_the_sample_that_is_here(rewritten):
    assert names(rewritten) == names(SAMPLE)
    for name in names(SAMPLE)[::50]:
        # Pixels, not bytes: another Pillow may compress the same image to other bytes.
        with Image.open(SAMPLE / name) as ours, Image.open(rewritten / name) as again:
            assert np.array_equal(np.asarray(ours), np.asarray(again)), name


def test_writing_again_gives_the_same_bytes_and_leaves_other_files(rewritten):
    before = {name: (rewritten / name).read_bytes() for name in names(rewritten)[::50]}
    other = rewritten / "train" / "0" / "mine.png"
    other.write_bytes(b"mine")
    make_digits.write(rewritten)
    assert {name: (rewritten / name).read_bytes() for name in before} == before
    assert other.read_bytes() == b"mine"
    other.unlink()


def test_the_ends_of_the_scale_are_black_and_white():
    assert np.asarray(make_digits.to_image(np.zeros((8, 8)))).max() == 0
    assert np.asarray(make_digits.to_image(np.full((8, 8), 16.0))).min() == 255


def test_the_split_takes_a_fifth_of_each_class():
    labels = np.repeat([3, 7], [10, 50])
    chosen = make_digits.valid_indices(labels)
    assert np.bincount(labels[chosen])[[3, 7]].tolist() == [2, 10]
    assert np.array_equal(chosen, make_digits.valid_indices(labels))
