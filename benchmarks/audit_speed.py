"""How many files a second are looked at: decoded the first time, remembered the second?

OMP_NUM_THREADS=1 python benchmarks/audit_speed.py FOLDER

A new cache for each round; cold is with the files in the system's disk cache, since a round before has read them.
"""

import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from data.audit import Audit, audit

ROUNDS = 3


def timed(folder: str) -> tuple[float, Audit]:
    """Seconds of one audit, and what it found."""
    start = time.perf_counter()
    found = audit(folder)
    return time.perf_counter() - start, found


def main(argv: list[str]) -> int:
    """Print files, seconds and files a second, cold and warm."""
    if len(argv) != 1 or not Path(argv[0]).is_dir():
        print("usage: python benchmarks/audit_speed.py FOLDER", file=sys.stderr)
        return 2
    audit(argv[0], remember=False)
    seconds: dict[str, list[float]] = {"cold": [], "warm": []}
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as cache:
            os.environ["XDG_CACHE_HOME"] = cache
            for name in seconds:
                spent, found = timed(argv[0])
                seconds[name].append(spent)
    for name, spent in seconds.items():
        middle = median(spent)
        print(f"{name}: {len(found.items)} files in {middle:.3f} s, {len(found.items) / middle:.0f} files/s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
