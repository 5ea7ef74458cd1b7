"""A live cell of the site: from the text that a reader edits to pages with its card and its film.

`docs/site/static/live_worker.js` runs this in a worker of the page, which the page ends if an answer takes too long.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache
from pathlib import Path

from markupsafe import Markup

from checker.checking import check_source
from checker.course import PUZZLES
from checker.films.page import film_document
from checker.judge.verdict import Verdict
from checker.live.in_process import InProcess
from checker.submission.from_path import from_path
from checker.verbs.film import folded
from checker.view.card import card_html

FOLDER = Path("tile_by_tile")
"""In the worker's memory: nothing reaches the reader's disk."""
UNREAD = '<p style="font:1em/1.5 system-ui,sans-serif;color:light-dark(#b93a00,#ff8f52)">{}</p>'


@cache
def _runner() -> InProcess:
    FOLDER.mkdir(exist_ok=True)
    return InProcess(FOLDER)


class Cell:
    """A kernel that the reader wrote, and its verdict."""

    def __init__(self, name: str, text: str) -> None:
        """`text` is that of the puzzle's file."""
        self.puzzle, self.source, self.verdict = PUZZLES[name], None, None
        path = FOLDER / f"{name}.py"
        FOLDER.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
        read = from_path(path, [self.puzzle])
        self.source = next((one.source for one in read if one.source is not None), None)
        self.why = next((one.error for one in read if one.error), f"there is no kernel {self.puzzle.kernel} here")
        if self.source is not None:
            self.verdict = self._judged(diagnose=False)

    def diagnose(self) -> None:
        """Find out why a kernel fails, which takes much longer than finding that it does."""
        if self.verdict is not None and self.verdict.failure is not None:
            self.verdict = self._judged(diagnose=True)

    def _judged(self, diagnose: bool) -> Verdict:
        assert self.source is not None
        started = time.perf_counter()
        verdict = check_source(
            self.puzzle, self.source, "cpu", submission=self.source.origin, runner=_runner(), diagnose=diagnose
        )
        return replace(verdict, seconds=time.perf_counter() - started)

    def card(self) -> str:
        """A page with the card, or with the reason why there is no kernel to check."""
        words = Markup(UNREAD).format(f"{self.why[:1].upper()}{self.why[1:]}.")  # noqa: S704
        return film_document(card_html(self.verdict) if self.verdict else str(words), self.puzzle.title)

    def film(self) -> str:
        """A page with the film of the failing case or of the passing kernel; empty if there is none."""
        film = folded(self.verdict, self.source, _runner()) if self.verdict and self.source else ""
        return film and film_document(film, self.puzzle.title)
