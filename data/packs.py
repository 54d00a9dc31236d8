"""Files of many byte strings, in a folder of bounded size: appended to by one process each, mapped by all.

packs = Packs(folder, limit=2**30)
place = packs.append(content)               # None when there is no room
packs.view(*place, len(content))            # a memory-mapped array, or None when it is gone

The pack that was used longest ago goes first. A run that still reads it goes on: what is mapped stays.
"""

import mmap
import os
import shutil
import threading
import uuid
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import numpy as np

PACK_BYTES = 2**27  # 128 MiB; what is thrown away at once
SUFFIX = ".pack"


class Packs:
    """Safe for threads, and for several processes in one folder.

    Parameters
    ----------
    folder
        Made when something is written.
    limit
        Bytes for all packs; never more than half of what the disk has to spare, so that a run finds room for
        its results.

    Attributes
    ----------
    full : str
        Why nothing more is taken, empty while something is.
    evicted : list[str]
        Names of the packs that this object removed.
    """

    def __init__(self, folder: Path, limit: int):
        self.folder, self.limit, self.full, self.evicted = folder, limit, "", []
        self._lock = threading.Lock()
        self._file: BinaryIO | None = None
        self._name, self._end = "", 0
        self._own: set[str] = set()
        self._maps: dict[str, mmap.mmap] = {}
        self._gone: set[str] = set()

    def append(self, content: bytes) -> tuple[str, int] | None:
        """Write `content`; return the pack's name and the offset, or None when there is no room."""
        with self._lock:
            if self.full:
                return None
            try:
                if self._file is None or self._end + len(content) > PACK_BYTES:
                    self._begin(len(content))
                if self.full:
                    return None
                offset, rest = self._end, memoryview(content)
                while rest:  # written, not mapped: a full disk is an error here, and a crash there
                    written = self._file.write(rest)
                    self._end, rest = self._end + written, rest[written:]
            except OSError as error:
                self.full = f"{self.folder}: {error.strerror}"
                return None
            return self._name, offset

    def view(self, name: str, offset: int, length: int) -> np.ndarray | None:
        """The bytes at a place, uint8 (length,), read-only; None where the pack is gone or too short."""
        with self._lock:
            mapped = self._maps.get(name)
            if mapped is None or len(mapped) < offset + length:
                mapped = self._map(name)
        if mapped is None or len(mapped) < offset + length or offset < 0:
            return None
        return np.frombuffer(mapped, np.uint8, length, offset)

    def close(self) -> None:
        """Close the pack that is written to; what is mapped stays valid."""
        with self._lock:
            self._finish()

    def _finish(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                self._file.truncate(self._end)
            self._file.close()
            self._file = None

    def _begin(self, length: int) -> None:
        self._finish()
        self.folder.mkdir(parents=True, exist_ok=True)
        length = max(PACK_BYTES, length)
        self._make_room(length)
        if not self.full:
            self._name, self._end = f"{uuid.uuid4().hex}{SUFFIX}", 0
            self._file = open(self.folder / self._name, "xb", buffering=0)  # noqa: SIM115  open for the whole run
            self._own.add(self._name)
            self._file.truncate(length)  # as long as it may become, though empty: so it is mapped but once

    def _make_room(self, length: int) -> None:
        found = []
        for path in self.folder.glob(f"*{SUFFIX}"):
            with suppress(OSError):  # another process has removed it
                state = path.stat()
                found.append((state.st_mtime, state.st_size, path))
        total = sum(size for _, size, _ in found)
        limit = min(self.limit, (shutil.disk_usage(self.folder).free + total) // 2)
        for _, size, path in sorted(found):
            if total + length <= limit:
                return
            if path.name in self._maps or path.name in self._own:
                continue  # of this run
            with suppress(OSError):  # Windows: another process has it open
                path.unlink()
                total -= size
                self.evicted.append(path.name)
        if total + length > limit:
            self.full = f"{self.folder}: {limit / 2**30:.1f} GB are in use"

    def _map(self, name: str) -> mmap.mmap | None:
        if name in self._gone:
            return None
        path = self.folder / name
        try:
            with open(path, "rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError):  # gone; or empty
            self._gone.add(name)
            return None
        if name not in self._maps:
            with suppress(OSError):
                os.utime(path)  # it is in use now
        self._maps[name] = mapped  # the shorter map of before lives as long as its views
        return mapped
