"""What the card of a wrong kernel promises: something to do that is true for its puzzle, and a film that opens."""

from __future__ import annotations

import pytest

from checker.judge.verdict import Verdict
from checker.puzzle import Puzzle
from checker.submission.kernel import KernelSource
from checker.verbs import film
from checker.view.card_content import failing_case
from tests.judge.local_runner import LocalRunner


def problem(
    puzzle: Puzzle, source: KernelSource, verdict: Verdict, runner: LocalRunner, patch: pytest.MonkeyPatch
) -> str:
    """What is wrong with the card of a wrong kernel; empty if nothing is."""
    failure, diagnosis = verdict.failure, verdict.diagnosis
    if failure is None:
        return ""  # a second mistake may undo the first
    advice = failure.advice
    if not advice and not (diagnosis is not None and diagnosis.try_):
        return "nothing to do"
    loads_output = any(puzzle.budget(case)[name].loaded for case in puzzle.cases for name in puzzle.outputs)
    if loads_output and "in a variable of the program" in advice:
        return "keep in a variable what the puzzle keeps in memory"
    if "by hand" in advice and not (failure.mismatch and failure.mismatch.inputs):
        return "by hand, but without the numbers"
    if "tl.zeros" in advice:
        return "zeros, where a maximum starts at -inf"
    if failure.case is not None and failure.mismatch is not None and failure.mismatch.case != failure.case:
        return "the numbers are of another case"
    case = failing_case(verdict)
    if case is None:
        return "" if verdict.status in ("timeout", "resource_limit") else "no case to film"
    patch.setattr(film, "Sandbox", type("Local", (), {"shared": staticmethod(lambda: runner)}))
    if verdict.status == "runtime_error":
        return ""  # it stops in its film, too
    try:
        opened = film.film_at(puzzle, source, case, verdict)
    except Exception as error:
        return f"no film: {type(error).__name__}: {error}"
    return "" if isinstance(opened, film.Film) else "the film is a card"
