"""``python -m app COMMAND``, where the console script ``fastsight`` is not installed."""

import sys

from app.cli import main

if __name__ == "__main__":
    sys.exit(main())
