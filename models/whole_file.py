"""Files of a model that are complete or not there, whatever happens while they are written.

with whole_files(Path("model.safetensors"), Path("model.json")) as (weights, described):
    ...
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


@contextmanager
def whole_files(*paths: Path) -> Iterator[list[Path]]:
    """Give a temporary name for each of `paths`, all in one folder; at the end all are flushed, then moved in order.

    When something goes wrong before that, all of `paths` stay as they were. A link is followed.

    Raises
    ------
    OSError
        What went wrong with a temporary file, said of the one it was to become.
    """
    targets = [path.resolve() for path in paths]
    try:
        temporary = TemporaryDirectory(dir=targets[0].parent, prefix=".export-")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(paths[0])) from error
    with temporary as folder:
        partials = [Path(folder, target.name) for target in targets]
        meant = dict(zip(partials, targets))
        try:
            yield partials
            for partial in partials:
                with partial.open("rb+") as stream:
                    os.fsync(stream.fileno())
            for partial, target in meant.items():
                os.replace(partial, target)
        except OSError as error:
            target = None if error.filename is None else meant.get(Path(os.fsdecode(error.filename)))
            if target is None:
                raise
            raise OSError(error.errno, error.strerror or str(error), str(target)) from error
