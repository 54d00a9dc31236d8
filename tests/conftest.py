"""What tests of every folder share: a small base of photos that a network learns in seconds.

def test_something(photo_folder):
    root = photo_folder()                       # train/ and valid/, each with cat/ and dog/
"""

import colorsys
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from app.threads import sleep_while_waiting

SIDE = 48  # px


def pytest_configure():
    """Take Ctrl-C as a terminal sends it: a shell ignores it in the jobs that it puts into the background.

    And have threads wait as in a command, which is before torch is imported.
    """
    sleep_while_waiting()
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def photo_folder(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes ``<name>/<split>/<class>/<index>.jpg`` and returns the folder.

    Each class has its own hue, each image its own noise: easily learned, and no two are identical.
    """

    def make(name: str = "photos", *, classes: Sequence[str] = ("cat", "dog"), train: int = 12, valid: int = 6) -> Path:
        rng = np.random.default_rng(0)
        for split, count in (("train", train), ("valid", valid)):
            for position, label in enumerate(classes):
                colour = 255 * np.array(colorsys.hsv_to_rgb(position / len(classes), 0.8, 0.7))
                folder = tmp_path / name / split / label
                if count:
                    folder.mkdir(parents=True)
                for index in range(count):
                    pixels = colour + rng.normal(0, 25, (SIDE, SIDE, 3))
                    Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(folder / f"{index:02d}.jpg")
        return tmp_path / name

    return make


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The tests' cache folder, in their own processes too: not the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield
