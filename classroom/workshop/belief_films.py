"""Films of the bank's wrong kernels, made one at a time in the background when the class needs them, and kept on the disk."""

from __future__ import annotations

import hashlib
import queue
import re
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from checker.api.course import PUZZLES, Misconception, bank, failing_film
from checker.api.room import write_atomically

FilmMaker = Callable[[str, str], str]
"""Takes a puzzle and a misconception, and returns a page, empty if there is no film."""

KEYS = """<script>
document.querySelector(".tbt-film").focus({ preventScroll: true });
addEventListener("keydown", (event) => event.key === "Escape" && parent.postMessage("close", "*"));
</script>"""
"""A film on the board takes the keyboard at once, and hands Escape to the page around it."""


def misconception(puzzle: str, name: str) -> Misconception | None:
    """The entry of the bank; None if it has none by that name."""
    return next((one for one in bank(puzzle) if one.name == name), None) if puzzle in PUZZLES else None


def film_of_belief(puzzle: str, name: str) -> str:
    """The page of a wrong kernel's film at the plainest case that it fails; empty if there is none."""
    entry = misconception(puzzle, name)
    return failing_film(puzzle, entry.source, f"{puzzle}: {name.replace('_', ' ')}") if entry is not None else ""


@dataclass
class BeliefFilms:
    """The films in `folder`. A film is made again when the bank's kernel has changed."""

    folder: Path
    make: FilmMaker = film_of_belief
    _queue: queue.Queue[Path] = field(default_factory=queue.Queue, repr=False)
    _paths: dict[Path, tuple[str, str]] = field(default_factory=dict, repr=False)
    _thread: threading.Thread | None = field(default=None, repr=False)

    def want(self, puzzle: str, name: str) -> None:
        """Have a film made unless it exists or is on its way; returns at once."""
        path = self._path(puzzle, name)
        if path is None or path in self._paths or path.is_file():
            return
        self._paths[path] = (puzzle, name)
        self._queue.put(path)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="belief-films", daemon=True)
            self._thread.start()

    def ready(self, puzzle: str, name: str) -> bool:
        path = self._path(puzzle, name)
        return path is not None and path.is_file()

    def page(self, puzzle: str, name: str) -> str | None:
        """The page of a film; None if it is not ready."""
        path = self._path(puzzle, name)
        return path.read_text("utf-8") + KEYS if path is not None and path.is_file() else None

    def _path(self, puzzle: str, name: str) -> Path | None:
        if not re.fullmatch(r"\w+", f"{puzzle}{name}") or (entry := misconception(puzzle, name)) is None:
            return None
        version = hashlib.sha256(entry.source.source.encode()).hexdigest()[:12]
        return self.folder / f"{puzzle}.{name}.{version}.html"

    def _work(self) -> None:
        while True:
            path = self._queue.get()
            try:
                if page := self.make(*self._paths[path]):
                    write_atomically(path, page)
            except Exception:  # without a film, the board still shows the sentence
                traceback.print_exc()
