"""What the card of a wrong kernel promises: something to do that is true for its puzzle, and a film that opens."""

from __future__ import annotations

import re

from checker.judge.verdict import Verdict
from checker.live.in_process import InProcess
from checker.misconceptions import solution
from checker.puzzle import Puzzle
from checker.submission.kernel import KernelSource
from checker.verbs import film
from checker.view.card_content import failing_case

NAME = re.compile(r"\b[a-z]+_[a-z_]+\b|\b[A-Z]+(?:_[A-Z]+)+\b")
"""What looks like a variable of a kernel; the card's prose has no such words."""
OF_TRITON = {"padding_option", "boundary_check", "debug_barrier", "max_constancy", "max_contiguous", "multiple_of"}


def problem(puzzle: Puzzle, source: KernelSource, verdict: Verdict, runner: InProcess) -> str:
    """What is wrong with the card of a wrong kernel; empty if nothing is."""
    failure, diagnosis = verdict.failure, verdict.diagnosis
    if failure is None:
        return ""  # a second mistake may undo the first
    advice, text = failure.advice, " ".join(words(verdict))
    if not advice and not (diagnosis is not None and diagnosis.try_):
        return "nothing to do"
    loads_output = any(puzzle.budget(case)[name].loaded for case in puzzle.cases for name in puzzle.outputs)
    if loads_output and "in a variable of the program" in advice:
        return "keep in a variable what the puzzle keeps in memory"
    if "by hand" in advice and not (failure.mismatch and failure.mismatch.by_hand):
        return "by hand, but without the numbers"
    if "tl.zeros" in advice:
        return "zeros, where a maximum starts at -inf"
    if failure.case is not None and failure.mismatch is not None and failure.mismatch.case != failure.case:
        return "the numbers are of another case"
    if flags := [name for name in puzzle.cases[0].flags if name not in puzzle.parameters and name in text.split()]:
        return f"flags of the checker: {', '.join(flags)}"
    if unknown := unknown_names(puzzle, source, text):
        return f"names that neither the kernel nor the puzzle has: {', '.join(sorted(unknown))}"
    case = failing_case(verdict)
    if case is None:
        too_large = any(finding.kind == "wrap" for finding in failure.findings)
        return "" if too_large or verdict.status in ("timeout", "resource_limit") else "no case to film"
    if verdict.status == "runtime_error":
        return ""  # it stops in its film, too
    try:
        opened = film.film_at(puzzle, source, case, verdict, runner)
    except Exception as error:
        return f"no film: {type(error).__name__}: {error}"
    return "" if isinstance(opened, film.Film) else "the film is a card"


def words(verdict: Verdict) -> list[str]:
    """What the card says about the mistake."""
    failure, one = verdict.failure, verdict.diagnosis
    said = [failure.message, failure.advice] if failure is not None else []
    while one is not None:
        said += [one.believed, one.instead, one.try_, one.note]
        one = one.second
    return said


def unknown_names(puzzle: Puzzle, source: KernelSource, text: str) -> set[str]:
    """The names of variables in a text that the learner can look up neither in the kernel nor in the puzzle's page and stub."""
    known = set(re.findall(r"\w+", " ".join((source.source, solution(puzzle.name), puzzle.statement))))
    short = {name.removesuffix("_ptr") for name in puzzle.parameters}
    return set(NAME.findall(text)) - known - short - OF_TRITON
