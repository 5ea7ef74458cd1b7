"""The `source` gate: does the kernel follow the rules, and is anything written yet?"""

from __future__ import annotations

import ast

from checker.judge.verdict import GateResult, GateWarning
from checker.puzzle import Puzzle
from checker.submission import rules
from checker.submission.allowed_names import RULES
from checker.submission.kernel import KernelSource, Violation


def source_gate(puzzle: Puzzle, source: KernelSource) -> GateResult:
    if rules.is_untouched(source):
        return GateResult(
            "source",
            "not_attempted",
            "Nothing is written here yet. Put your lines between the two markers; even a wrong first attempt shows you a lot.",
            advice="`hint` has three levels, and the first only asks a question.",
        )
    broken = rules.violations(source, puzzle)
    if not broken:
        return GateResult("source", "passed", "Follows the rules of the course.", warnings=_prints(source))
    first, *more = (_in_words(source, violation) for violation in broken)
    full_stop = "" if first[-1] in ".?" else "."
    return GateResult(
        "source",
        "forbidden",
        f"{first[0].upper()}{first[1:]}{full_stop}{f' {len(more)} more below.' if more else ''}",
        line=broken[0].line,
        detail="\n".join(more),
        advice=RULES[broken[0].rule],
    )


def _prints(source: KernelSource) -> tuple[GateWarning, ...]:
    """Where the kernel's first print is, and where to read it: a check runs hundreds of programs and shows no output of theirs."""
    if "print" not in source.source:
        return ()
    calls = (node.func for node in ast.walk(ast.parse(source.source)) if isinstance(node, ast.Call))
    prints = [call.lineno for call in calls if ast.unparse(call) in ("print", "tl.device_print", "tl.static_print")]
    if not prints:
        return ()
    message = f"A check shows no prints. To read them, launch the kernel on small tensors: `{source.kernel}[grid](…)`."
    return (GateWarning(message, min(prints)),)


def _in_words(source: KernelSource, violation: Violation) -> str:
    elsewhere = violation.origin not in ("", source.origin)
    return f"line {violation.line}{f' of {violation.origin}' if elsewhere else ''}: {violation.message}"
