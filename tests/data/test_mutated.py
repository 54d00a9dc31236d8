"""Damaged files of every kind, made from a seed: each is read or refused, soon, and within bounds of memory.

python -m pytest tests/data/test_mutated.py
"""

import io
import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
from PIL import Image

import data

COUNT = 500
MAX_SECONDS = 5  # for one file
MAX_MEGABYTES = 1000  # for the whole process
JPEG_MARKERS = bytes((0xC0, 0xC2, 0xC4, 0xD8, 0xD9, 0xDA, 0xDB, 0xDD, 0xE0, 0xE1, 0xFE))

INSPECT = """
import json, re, sys, time
from pathlib import Path
from data.inspect import ends_early, inspect_file, inspect_truncated
rows = []
for path in sorted(Path(sys.argv[1]).iterdir()):
    start = time.perf_counter()
    facts = inspect_file(path)
    if ends_early(facts):
        facts = inspect_truncated(path, facts)
    rows.append((path.name, facts.reason, facts.width, time.perf_counter() - start))
status = Path("/proc/self/status")  # on Linux alone; getrusage would count the process that started this one
peak = re.search(r"VmHWM:\\s+(\\d+) kB", status.read_text())[1] if status.exists() else 0
print(json.dumps({"rows": rows, "kilobytes": int(peak)}))
"""


def originals():
    """Ten images: (suffix, bytes) of each format and of unusual modes."""
    rng = np.random.default_rng(0)
    small = rng.integers(0, 256, (16, 24, 3), np.uint8)
    photo = Image.fromarray(small).resize((240, 160), Image.Resampling.BICUBIC)
    exif = Image.Exif()
    exif[0x0112] = 6
    forms = [
        (".jpg", photo, "JPEG", {"exif": exif}),
        (".jpg", photo, "JPEG", {"progressive": True}),
        (".jpg", photo.convert("CMYK"), "JPEG", {}),
        (".png", photo, "PNG", {}),
        (".png", photo.convert("P"), "PNG", {"transparency": 3}),
        (".gif", photo, "GIF", {"save_all": True, "append_images": [photo.rotate(90)]}),
        (".bmp", photo, "BMP", {}),
        (".tif", photo, "TIFF", {"compression": "tiff_lzw"}),
        (".tif", Image.fromarray(small[..., 0].astype(np.uint16) * 257), "TIFF", {}),
        (".webp", photo, "WEBP", {}),
    ]
    for suffix, image, form, options in forms:
        buffer = io.BytesIO()
        image.save(buffer, form, **options)
        yield suffix, buffer.getvalue()


def mutated(content, rng):
    """`content` with one to twenty bits flipped, cut, or with its JPEG markers (or any bytes) changed."""
    changed = bytearray(content)
    kind = rng.choice(("flip", "flip", "flip head", "cut", "marker", "hole"))
    if kind.startswith("flip"):
        end = min(len(changed), 64) if kind == "flip head" else len(changed)
        for _ in range(rng.randint(1, 20)):
            changed[rng.randrange(end)] ^= 1 << rng.randrange(8)
    elif kind == "cut":
        del changed[rng.randrange(len(changed)) :]
    elif kind == "marker":
        places = [i + 1 for i in range(len(changed) - 1) if changed[i] == 0xFF and changed[i + 1] in JPEG_MARKERS]
        places = places or range(len(changed))
        for _ in range(rng.randint(1, 3)):
            changed[rng.choice(places)] = rng.choice(JPEG_MARKERS)
    else:
        start = rng.randrange(len(changed))
        del changed[start : start + rng.randint(1, 200)]
    return bytes(changed)


def test_mutated_images(tmp_path):
    rng = random.Random(0)
    images = list(originals())
    for index in range(COUNT):
        suffix, content = images[index % len(images)]
        (tmp_path / f"{index:03d}{suffix}").write_bytes(mutated(content, rng))
    command = [sys.executable, "-c", INSPECT, str(tmp_path)]
    root = Path(data.__file__).parents[1]
    result = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=COUNT * MAX_SECONDS)
    assert result.returncode == 0, result.stderr[-2000:]
    report = json.loads(result.stdout)
    assert len(report["rows"]) == COUNT
    for name, reason, width, seconds in report["rows"]:
        assert reason or width > 0, name
        assert "\n" not in reason, name
        assert seconds < MAX_SECONDS, name
    assert report["kilobytes"] < MAX_MEGABYTES * 1000
    readable = sum(not reason for _, reason, _, _ in report["rows"])
    assert 50 < readable < 450  # or the mutations do not test much
