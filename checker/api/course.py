"""What a class in one room needs to know about the course: its puzzles, their wrong kernels, and films of these."""

from __future__ import annotations

from checker.course import LADDER, PUZZLES
from checker.films.page import film_document
from checker.judge.verdict import STATUSES
from checker.misconceptions import Misconception, bank
from checker.puzzle import GATES
from checker.submission.kernel import KernelSource
from checker.verbs.film import Film, film_of


def failing_film(puzzle: str, kernel: KernelSource, title: str) -> str:
    """The page of a kernel's film at the plainest case that it fails; empty if there is none."""
    film = film_of(PUZZLES[puzzle], kernel, {}, "failing")
    return film_document(film.html, title) if isinstance(film, Film) else ""
