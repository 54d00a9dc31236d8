"""The commands a person runs, one file each: ``python -m app.train``, ``python -m app.predict``.

The project is put first on the import path, so that a ``data/``, ``data.py`` or ``models/`` in the folder
where the user stands does not hide ours.
"""

import sys
from pathlib import Path

_PROJECT = str(Path(__file__).resolve().parent.parent)
if _PROJECT in sys.path:
    sys.path.remove(_PROJECT)
sys.path.insert(0, _PROJECT)
