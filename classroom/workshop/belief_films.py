"""The films of the bank's wrong kernels, made one at a time in the background as the room comes to need them, and kept."""

from __future__ import annotations

import hashlib
import queue
import re
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from checker.course import PUZZLES
from checker.misconceptions import Misconception, bank
from checker.workspace import write_atomically

Make = Callable[[str, str], str]
"""From a puzzle and a misconception to a page, empty where there is no film."""

KEYS = """<script>
document.querySelector(".tbt-film").focus({ preventScroll: true });
addEventListener("keydown", (event) => event.key === "Escape" && parent.postMessage("close", "*"));
</script>"""
"""On the board a film takes the keys at once, and hands Escape to the page around it."""


def misconception(puzzle: str, name: str) -> Misconception | None:
    """The entry of the bank; None where there is none by that name."""
    return next((one for one in bank(puzzle) if one.name == name), None) if puzzle in PUZZLES else None


@dataclass
class BeliefFilms:
    """Films in `folder`, that `make` makes. A film is made anew where the bank's kernel has changed."""

    folder: Path
    make: Make
    _wanted: queue.Queue[tuple[str, str]] = field(default_factory=queue.Queue, repr=False)
    _asked: set[tuple[str, str]] = field(default_factory=set, repr=False)
    _thread: threading.Thread | None = field(default=None, repr=False)

    def want(self, puzzle: str, name: str) -> None:
        """Have a film made, unless it is there or on its way; returns at once."""
        key = (puzzle, name)
        if key in self._asked:
            return
        self._asked.add(key)
        self._wanted.put(key)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="belief-films", daemon=True)
            self._thread.start()

    def ready(self, puzzle: str, name: str) -> bool:
        path = self._path(puzzle, name)
        return path is not None and path.is_file()

    def page(self, puzzle: str, name: str) -> str | None:
        """The page of a film; None where there is none (yet)."""
        path = self._path(puzzle, name)
        return path.read_text("utf-8") + KEYS if path is not None and path.is_file() else None

    def _path(self, puzzle: str, name: str) -> Path | None:
        if not re.fullmatch(r"\w+", f"{puzzle}{name}") or (found := misconception(puzzle, name)) is None:
            return None
        version = hashlib.sha256(found.source.source.encode()).hexdigest()[:12]
        return self.folder / f"{puzzle}.{name}.{version}.html"

    def _work(self) -> None:
        while True:
            puzzle, name = self._wanted.get()
            path = self._path(puzzle, name)
            if path is None or path.is_file():
                continue
            try:
                if page := self.make(puzzle, name):
                    write_atomically(path, page)
            except Exception:  # without a film the board shows the sentence all the same
                traceback.print_exc()
