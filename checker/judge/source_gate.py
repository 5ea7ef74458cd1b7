"""The `source` gate: does the kernel follow the rules, and is anything written yet?"""

from __future__ import annotations

from checker.judge.verdict import GateResult
from checker.puzzle import Puzzle
from checker.submission import rules
from checker.submission.kernel import KernelSource, Violation


def source_gate(puzzle: Puzzle, source: KernelSource) -> GateResult:
    if rules.is_untouched(source):
        return GateResult(
            "source",
            "not_attempted",
            "Nothing is written here yet. Put your lines between the two markers; even a wrong first attempt "
            "shows you a lot.",
            advice="`hint` has three levels, and the first only asks a question.",
        )
    broken = rules.violations(source, puzzle)
    if not broken:
        return GateResult("source", "passed", "Follows the rules of the course.")
    first, rest = broken[0], broken[1:]
    more = f" {len(rest)} more below." if rest else ""
    sentence = _in_words(source, first)
    return GateResult(
        "source",
        "forbidden",
        f"{sentence[0].upper()}{sentence[1:]}{'' if sentence[-1] in '.?' else '.'}{more}",
        line=first.line,
        detail="\n".join(_in_words(source, violation) for violation in rest),
        advice=rules.RULES.get(first.rule, "A kernel uses `tl` and its own parameters, and nothing else of Python."),
    )


def _in_words(source: KernelSource, violation: Violation) -> str:
    elsewhere = violation.origin not in ("", source.origin)
    return f"line {violation.line}{f' of {violation.origin}' if elsewhere else ''}: {violation.message}"
