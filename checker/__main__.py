"""``python -m checker``."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys

codes: list[int] = []


def leave() -> None:
    """End the process without unloading torch, which takes seconds on a busy machine."""
    with contextlib.suppress(OSError, ValueError):  # the reader of a pipe has gone
        sys.stdout.flush()
        sys.stderr.flush()
    if codes:
        os._exit(codes[0])


if __name__ == "__main__":
    atexit.register(leave)  # before all others, so that it runs after them
    try:
        from checker.cli import main
    except ModuleNotFoundError:  # Typer itself is missing: doctor lists what else is
        from checker.verbs.doctor import doctor

        doctor()
        sys.exit(3)
    except KeyboardInterrupt:
        sys.exit("\nStopped.")
    codes.append(main())
    sys.exit(codes[0])
