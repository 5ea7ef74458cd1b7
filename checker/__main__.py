"""``python -m checker``."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    try:
        from checker.cli import main
    except ModuleNotFoundError:  # Typer itself is missing: doctor lists what else is
        from checker.verbs.doctor import doctor

        doctor()
        sys.exit(3)
    sys.exit(main())
