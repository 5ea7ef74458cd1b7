"""The `memory` gate: accesses stay in their tensors, each output element belongs to one program, inputs are unchanged."""

from __future__ import annotations

from collections.abc import Sequence

from checker.judge.factors import described
from checker.judge.finding_words import in_words, sentences
from checker.judge.loads import followed_entry
from checker.judge.outcome import Candidate, Failure, Outcome
from checker.judge.verdict import GateResult
from checker.puzzle import Gate, Puzzle
from checker.simulator.trace import Finding

GATE: Gate = "memory"
MEMORY_KINDS = (
    "out_of_bounds_store",
    "out_of_bounds_load",
    "modified_input",
    "false_promise",
    "race",
    "race_in_store",
    "missing_barrier",
    "early_release",
    "unwritten",
    "undefined_lanes",
)
"""Findings that fail the `memory` gate, the most urgent first."""


def memory_findings(outcome: Outcome) -> list[Finding]:
    """What fails the memory gate in one case, the most urgent first."""
    findings = [f for f in (outcome.trace.findings if outcome.trace else []) if f.kind in MEMORY_KINDS]
    findings += [
        Finding(
            "modified_input" if d.inside else "out_of_bounds_store",
            tensor=d.tensor,
            count=d.count,
            elements=(d.index,) if d.index else (),
        )
        for d in outcome.damage
        if not any(f.tensor == d.tensor and f.kind in ("modified_input", "out_of_bounds_store") for f in findings)
    ]
    return sorted(findings, key=lambda f: MEMORY_KINDS.index(f.kind))


def _findings(puzzle: Puzzle, outcome: Outcome) -> list[Finding]:
    """What the gate reports. It leaves loads of an output that need not be loaded to `traffic`."""
    loaded = {tensor for tensor, allowance in puzzle.budget(outcome.case).items() if allowance.loaded}
    return [f for f in memory_findings(outcome) if f.kind != "missing_barrier" or f.tensor in loaded]


def fails(puzzle: Puzzle, outcome: Outcome, like: Outcome) -> bool:
    """Whether `outcome` also has the most urgent kind of finding of `like`."""
    kinds = [finding.kind for finding in _findings(puzzle, like)]
    return bool(kinds) and any(finding.kind == kinds[0] for finding in _findings(puzzle, outcome))


def failing_outcome(puzzle: Puzzle, outcomes: Sequence[Outcome]) -> Outcome | None:
    """The first outcome with a finding."""
    return next((o for o in outcomes if _findings(puzzle, o)), None)


def passed(puzzle: Puzzle, outcomes: Sequence[Outcome]) -> GateResult:
    message = "Every access stays inside its tensor, each output element is stored by one program, and the inputs are unchanged."
    return GateResult(GATE, "passed", message)


def failed(candidate: Candidate, failure: Failure) -> GateResult:
    puzzle, source, failing = candidate.puzzle, candidate.source, failure.outcome
    findings = _findings(puzzle, failing)
    words = in_words(findings[0], source, failing.trace)
    bad, cases = sum(1 for o in failure.outcomes if _findings(puzzle, o)), len(failure.outcomes)
    many = f"It happens in {bad} of {cases} cases." if cases > 1 else ""
    return GateResult(
        GATE,
        "failed",
        " ".join(filter(None, (f"{words.what} ({described(failing.case)}).", words.why, many, failure.experiment))),
        line=findings[0].line,
        detail="\n".join(sentence for sentence in sentences(findings, source, failing.trace) if sentence != str(words)),
        advice=followed_entry(puzzle, failing, findings[0], source) or words.advice,
        case=failing.case,
        findings=tuple(findings),
    )
