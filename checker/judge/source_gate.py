"""The `source` gate: does the kernel keep the rules, and is anything written yet?"""

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
            "Nothing is written here yet. Put your lines between the two markers; a first attempt that is wrong "
            "already shows you a lot.",
            advice="`hint` has three levels, and the first only asks a question.",
        )
    found = rules.violations(source, puzzle)
    if not found:
        return GateResult("source", "passed", "Keeps the rules of the course.")
    first, rest = found[0], found[1:]
    more = f" {len(rest)} more below." if rest else ""
    told = _told(source, first)
    return GateResult(
        "source",
        "forbidden",
        f"{told[0].upper()}{told[1:]}{'' if told[-1] in '.?' else '.'}{more}",
        line=first.line,
        detail="\n".join(_told(source, violation) for violation in rest),
        advice=rules.RULES.get(first.rule, "A kernel uses `tl` and its own parameters, and nothing else of Python."),
    )


def _told(source: KernelSource, violation: Violation) -> str:
    elsewhere = violation.origin not in ("", source.origin)
    return f"line {violation.line}{f' of {violation.origin}' if elsewhere else ''}: {violation.message}"
