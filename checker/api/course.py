"""What a class in one room needs to know about the course: its puzzles, their wrong kernels, and the films and verdicts of these."""

from __future__ import annotations

from checker.checking import check_source
from checker.course import LADDER, PUZZLES
from checker.films.page import film_document
from checker.judge.verdict import STATUSES, Verdict
from checker.misconceptions import SOLUTIONS, Misconception, bank
from checker.puzzle import GATES
from checker.sandbox import Sandbox
from checker.submission.from_path import from_path
from checker.submission.kernel import KernelSource
from checker.verbs.film import Film, film_of


def solution(puzzle: str) -> KernelSource:
    """The course's solution."""
    submissions = from_path(SOLUTIONS / f"{puzzle}.py", [PUZZLES[puzzle]])
    return next(one.source for one in submissions if one.source is not None)


def check(puzzle: str, kernel: KernelSource) -> Verdict:
    """Judge a kernel on the CPU, with this process's own worker."""
    return check_source(PUZZLES[puzzle], kernel, "cpu", runner=Sandbox.shared())


def failing_film(puzzle: str, kernel: KernelSource, title: str) -> str:
    """The page of a kernel's film at the plainest case that it fails; empty if there is none."""
    film = film_of(PUZZLES[puzzle], kernel, {}, "failing")
    return film_document(film.html, title) if isinstance(film, Film) else ""
