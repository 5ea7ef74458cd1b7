"""Correct kernels beside the solutions, and wrong ones in other words than the bank's: a page each for a puzzle, here beside the tests.

Rewrites of a misconception are called after it, with a number: ``no_mask__1``. They may be laid on the correct kernels.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from checker.course import PUZZLES
from checker.judge.verdict import Verdict
from checker.misconceptions import Misconception, pages, solution
from checker.submission.kernel import KernelSource, Piece

HERE = Path(__file__).parent


@cache
def correct(puzzle: str) -> dict[str, KernelSource]:
    """The kernels of ``correct/<puzzle>.md`` by name, none where there is no such page. Raises `pages.PageError`."""
    return _read("correct", puzzle, {})


@cache
def styles(puzzle: str) -> dict[str, KernelSource]:
    """The kernels of ``styles/<puzzle>.md`` by name: right ones that were written without sight of the cases."""
    return _read("styles", puzzle, {})


@cache
def unseen(puzzle: str) -> dict[str, KernelSource]:
    """The kernels of ``unseen/<puzzle>.md`` by name: wrong ones, written without sight of the cases, that passed until a case was added."""
    return _read("unseen", puzzle, {})


@cache
def rewrites(puzzle: str) -> dict[str, KernelSource]:
    """The kernels of ``rewrites/<puzzle>.md`` by name, none where there is no such page. Raises `pages.PageError`."""
    return _read("rewrites", puzzle, {name: kernel.source for name, kernel in correct(puzzle).items()})


def _read(folder: str, puzzle: str, bases: dict[str, str]) -> dict[str, KernelSource]:
    kernel, page = PUZZLES[puzzle].kernel, HERE / folder / f"{puzzle}.md"
    if not page.is_file():  # a new puzzle need not have one
        return {}
    entries = pages.read(page, kernel, (), {pages.SOLUTION: solution(puzzle), **bases})
    return {
        entry.name: KernelSource(
            puzzle, kernel, entry.source, (Piece(1, entry.source.count("\n"), f"{entry.name}.py", 1),)
        )
        for entry in entries
    }


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
    smaller_case = (verdict.smallest is not None) == (wrong.name != "offset_in_32_bits")
    return "" if complete and smaller_case else f"{wrong.name} gets an incomplete verdict"
