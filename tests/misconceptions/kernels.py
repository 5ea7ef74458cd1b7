"""Correct kernels beside the solutions, and wrong ones in other words than the bank's: a page each for a puzzle, here beside the tests.

Rewrites of a misconception are called after it, with a number: ``no_mask__1``. They may be laid on the correct kernels.
"""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

from checker.course import PUZZLES
from checker.judge.verdict import Verdict
from checker.misconceptions import Misconception, pages, solution
from checker.submission.kernel import KernelSource, Piece

HERE = Path(__file__).parent


@cache
def read(folder: str, puzzle: str) -> dict[str, KernelSource]:
    """The kernels of ``<folder>/<puzzle>.md`` by name, none where there is no such page. Raises `pages.PageError`."""
    kernel, page = PUZZLES[puzzle].kernel, HERE / folder / f"{puzzle}.md"
    if not page.is_file():  # a new puzzle need not have one
        return {}
    bases = {} if folder == "correct" else {name: right.source for name, right in correct(puzzle).items()}
    entries = pages.read(page, kernel, (), {pages.SOLUTION: solution(puzzle), **bases})
    return {
        entry.name: KernelSource(
            puzzle, kernel, entry.source, (Piece(1, entry.source.count("\n"), f"{entry.name}.py", 1),)
        )
        for entry in entries
    }


correct = partial(read, "correct")
styles = partial(read, "styles")
"""Right kernels that were written without sight of the cases."""
unseen = partial(read, "unseen")
"""Wrong kernels, written without sight of the cases, that passed until a case was added."""
rewrites = partial(read, "rewrites")


def problem(wrong: Misconception, verdict: Verdict) -> str:
    """How the verdict on a wrong kernel differs from the expected one, empty if it does not."""
    if verdict.failure is None:
        return f"{wrong.name} passes"
    if verdict.failure.gate not in wrong.gates:
        return f"{wrong.name} is stopped by {verdict.failure.gate}"
    name = verdict.diagnosis.misconception if verdict.diagnosis is not None else None
    if name not in (wrong.name, *wrong.same_as):
        return f"{wrong.name} is called {name}"
    complete = verdict.failure.message and verdict.failure.advice and verdict.score == 0
    return "" if complete and verdict.failure.case is not None else f"{wrong.name} gets an incomplete verdict"
