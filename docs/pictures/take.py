"""Take the pictures of this folder: a run's report and TensorBoard, as Chromium shows them without a window.

python docs/pictures/take.py runs/RUN [--chromium PROGRAM]

Needs Chromium, or Chrome by another name. What report.html says on the browser's console is an error.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

HERE = Path(__file__).resolve().parent
COLOURS = 128  # of a palette: a screenshot in full colour is four times as large
WAIT_MS = 30_000  # of the page's own clock, until charts are drawn
LIGHT, DARK = 1, 0  # of Blink
# Name, window in pixels, colours.
PAGES = {"report": ((1100, 1500), LIGHT), "report-phone": ((390, 1400), LIGHT), "report-dark": ((1100, 1500), DARK)}
NARROWEST = 500  # px, of a window; what is narrower is shown in a frame
FRAME = '<!doctype html><body style="margin: 0"><iframe src="{}" width="{}" height="{}" style="border: 0"></iframe>'


def take(chromium: str, url: str, name: str, size: tuple[int, int], scheme: int = LIGHT) -> list[str]:
    """Write ``<name>.png``; return what the page said on the console."""
    with tempfile.TemporaryDirectory() as scratch:
        shot = Path(scratch, "shot.png")
        if size[0] < NARROWEST:
            frame = Path(scratch, "frame.html")
            frame.write_text(FRAME.format(url, *size), encoding="utf-8")
            url = frame.as_uri()
        command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += ["--enable-logging=stderr", f"--user-data-dir={scratch}/profile"]
        command += [f"--window-size={max(size[0], NARROWEST)},{size[1]}", f"--virtual-time-budget={WAIT_MS}"]
        command += [f"--blink-settings=preferredColorScheme={scheme}", f"--screenshot={shot}", url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if not shot.exists():
            raise SystemExit(f"{chromium} took no picture of {url}: {done.stderr[-500:]}")
        Image.open(shot).convert("RGB").crop((0, 0, *size)).quantize(COLOURS).save(HERE / f"{name}.png", optimize=True)
    return [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def main() -> int:
    """Take all of them; 1 if the report is not silent."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="a run folder")
    parser.add_argument("--chromium", default="chromium")
    args = parser.parse_args()
    run = args.run.resolve()
    said = []
    for name, (size, scheme) in PAGES.items():
        said += take(args.chromium, (run / "report.html").as_uri(), name, size, scheme)
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", run.name, "--port", "0", "--load_fast=false"]
    with subprocess.Popen(command, cwd=run.parent, stderr=subprocess.PIPE, text=True) as process:
        address = next(found[0] for line in process.stderr if (found := re.search(r"http://localhost:\d+/", line)))
        take(args.chromium, f"{address}#custom_scalars", "tensorboard", (1400, 1000))
        process.terminate()
    print(f"taken anew: {', '.join(f'{name}.png' for name in (*PAGES, 'tensorboard'))} in {HERE}")
    print("\n".join(said) or "report.html wrote no error on the browser's console")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
