"""Results that are written to a file, or to standard output."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from checker.verbs.naming import Unavailable, UsageError


def write_json(target: str, content: dict[str, Any]) -> None:
    from checker.grading.result_json import write

    with writing(target):
        write(target, content)


def writable(*targets: str | None) -> None:
    """Raises UsageError for a file that cannot be written, before the work whose result it is to hold is begun."""
    for target in targets:
        if target is None or target == "-":
            continue
        path = Path(target)
        if path.is_dir():
            raise UsageError(f"{target} is a folder; the result needs the name of a file")
        folder = next(p for p in (path.absolute().parents) if p.exists())
        if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            raise UsageError(f"{target} cannot be written: {folder} is no folder that you may write to")


@contextlib.contextmanager
def writing(target: str) -> Iterator[None]:
    """A file that cannot be written after all is the machine's failing, and the work was done."""
    try:
        yield
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise Unavailable(f"{target} could not be written: {error.strerror or error}") from error
