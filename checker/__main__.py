"""``python -m checker``."""

from __future__ import annotations

import sys

from checker.cli import main

if __name__ == "__main__":
    sys.exit(main())
