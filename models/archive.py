"""The archive that torch.save writes, looked at before anything in it is read: whole, of one kind, and undamaged.

check(Path("model.pkl"))                    # it is one
check_content(Path("model.pkl"))            # and holds what was put into it
"""

import pickletools
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from models.errors import ModelError, Refused, reason_of

GIVE = "give the model.pkl that app.train wrote"
# Of a zip file that is damaged or of a rarer kind, encrypted say.
UNREADABLE = (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, UnicodeDecodeError)


def check(path: Path) -> None:
    """See that `path` is an archive with a pickle.

    Raises
    ------
    ModelError
        It is not, or only a part of one.
    """
    if not zipfile.is_zipfile(path):
        with path.open("rb") as stream:
            if stream.read(2) == b"PK":
                raise ModelError(f"{path} is incomplete, its end is missing: copy or export it again")
        raise ModelError(f"{path} is not an exported model: {GIVE}")
    with _opened(path) as archive:
        names = archive.namelist()
    if not any(name.endswith("/data.pkl") for name in names):
        raise ModelError(f"{path} is not an exported model: {GIVE}")


def check_content(path: Path) -> None:
    """See that each entry is what its checksum says, which torch does not look at: a flipped bit is another answer.

    Raises
    ------
    ModelError
        One is not; or a pickle would make room for what it does not hold.
    """
    with _opened(path) as archive:
        entries = archive.infolist()
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            raise Refused(f"{path} refused, it is compressed, as no exported model is: export it again")
        if damaged := archive.testzip():
            raise ModelError(f"{path} is damaged (in {damaged}): copy or export it again")
        pickles = [
            archive.read(entry) for entry in entries if entry.filename.endswith(".pkl")
        ]  # one may be there twice
    try:
        makes_room = any(_makes_room(content) for content in pickles)
    except ValueError as error:  # an unpickler may be less particular, and go on
        raise ModelError(f"{path} is damaged ({reason_of(error)}): export it again") from error
    if makes_room:
        raise Refused(f"{path} refused, it would take memory for objects that it does not have: export it again")


def _makes_room(content: bytes) -> bool:
    """Whether a pickle numbers an object higher than it has bytes: the unpickler has a place for each number below."""
    numbers = (n for code, n, _ in pickletools.genops(content) if code.name in ("PUT", "BINPUT", "LONG_BINPUT"))
    return any(number > len(content) for number in numbers)


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except UNREADABLE as error:
        raise ModelError(f"{path} is damaged ({reason_of(error)}): copy or export it again") from error
