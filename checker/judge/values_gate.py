"""The `values` gate: is every element of every case right? If not, which comes first, who stored it, and why?"""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from checker.judge.factors import described
from checker.judge.finding_words import CHECK_STRIDES, in_words, sentences
from checker.judge.inputs import with_inputs
from checker.judge.loads import followed_entry, nan_loaded
from checker.judge.outcome import Candidate, Failure, Outcome
from checker.judge.phrases import at_line, element, number
from checker.judge.verdict import GateResult, Mismatch
from checker.phrases import count, join, program, short
from checker.puzzle import Gate, Puzzle
from checker.simulator.trace import Event, Finding, Trace
from checker.submission.allowed_names import RULES
from checker.submission.kernel import KernelSource

GATE: Gate = "values"

UNFINISHED: dict[str, tuple[str, str]] = {
    "runtime_error": ("The kernel stopped with an error", "Fix that line first: nothing after it has run."),
    "timeout": ("The kernel did not finish in time", RULES["endless"]),
    "resource_limit": ("The kernel needed more memory than a check may use", "Look at the shape of the largest tile."),
    "protocol_error": ("The process that ran the kernel sent back something unexpected", "Run the check again."),
    "infra_error": (
        "The checker could not run the kernel, which says nothing about your code",
        "Run the check again. If this stays, `doctor` shows what is missing on this machine.",
    ),
}


def fails(puzzle: Puzzle, outcome: Outcome, like: Outcome) -> bool:
    """Whether `outcome` fails as `like` does: stopped with the same status, or ran and is wrong."""
    return outcome.ran and not outcome.right if like.ran else outcome.result.status == like.result.status


def failing_outcome(puzzle: Puzzle, outcomes: Sequence[Outcome]) -> Outcome | None:
    """A launch that did not end, or else the first wrong case."""
    wrong = next((o for o in outcomes if o.ran and not o.right), None)
    stopped = next((o for o in outcomes if not o.ran), None)
    if stopped is not None and wrong is not None and stopped.result.status in ("infra_error", "protocol_error"):
        return wrong
    return stopped or wrong


def passed(puzzle: Puzzle, outcomes: Sequence[Outcome]) -> GateResult:
    worst = max((o.comparison.worst for o in outcomes if o.comparison), default=0.0)
    share = f"; the largest error is {worst:.0%} of what is allowed" if outcomes else ""
    return GateResult(GATE, "passed", f"Right in all {count(len(outcomes), 'case')}{share}.")


def failed(candidate: Candidate, failure: Failure) -> GateResult:
    source, failing, trace = candidate.source, failure.outcome, failure.outcome.trace
    if failing.comparison is None:
        return unfinished(GATE, source, failing)
    assert failing.comparison.mismatch is not None
    mismatch = with_inputs(candidate.puzzle, failing.prepared, _located(failing.comparison.mismatch, trace))
    findings = trace.findings if trace else []
    early = _early_read(mismatch, findings, trace)
    loaded = any(candidate.puzzle.budget(case)[mismatch.output].loaded for case in candidate.puzzle.cases)
    explanation = _Explanation(candidate.puzzle, source, failure, mismatch, findings, early, loaded)
    others = (f for f in findings if f != explanation.cause)
    return GateResult(
        GATE,
        "failed",
        explanation.message(),
        line=explanation.line(),
        detail="\n".join(sentences(others, source, failing.trace)),
        advice=explanation.advice(),
        case=failing.case,
        mismatch=mismatch,
        findings=tuple(findings),
    )


def unfinished(gate: Gate, source: KernelSource, outcome: Outcome) -> GateResult:
    """A launch that ended with a status other than ``passed``: its status becomes the gate's."""
    result = outcome.result
    start, advice = UNFINISHED.get(result.status, UNFINISHED["infra_error"])
    reason = result.message.rstrip(".")
    if reason and result.status == "timeout":
        start, reason = reason, ""
    message = (
        f"{start}{at_line(source, result.line)} ({described(outcome.case)}). {reason}{'.' if reason else ''}".rstrip()
    )
    if result.status == "timeout":
        message = f"{message} {_loop_around(source, result.line)}".rstrip()
    return GateResult(gate, result.status, message, result.line, result.detail, advice, outcome.case)


def _loop_around(source: KernelSource, line: int | None) -> str:
    """What the innermost loop around a line goes by, in a sentence; empty if there is none."""
    loops = [node for node in ast.walk(ast.parse(source.source)) if isinstance(node, ast.For | ast.While)]
    around = [loop for loop in loops if line is not None and loop.lineno <= line <= (loop.end_lineno or 0)]
    if not around:
        return ""
    inner = max(around, key=lambda loop: loop.lineno)
    where = source.line_words(inner.lineno)
    if isinstance(inner, ast.While):
        return f"The loop in {where} goes on while `{ast.unparse(inner.test)}`."
    return f"The loop in {where} goes over `{ast.unparse(inner.iter)}`."


def _located(mismatch: Mismatch, trace: Trace | None) -> Mismatch:
    """The mismatch with the line of the store that wrote its first element."""
    if trace is None or mismatch.writer is None:
        return mismatch
    written = trace.writer_lines.get(mismatch.output)
    if written is not None:
        at = int(np.asarray(written).reshape(mismatch.shape)[mismatch.first])
        return replace(mismatch, line=at or None)
    stores = [e for e in trace.events if e.kind in ("store", "atomic") and e.tensor == mismatch.output]
    mine = [e for e in stores if e.program == mismatch.writer and _touches(e, mismatch.first, mismatch.shape)]
    lines = {e.line for e in stores}
    line = mine[-1].line if mine else lines.pop() if len(lines) == 1 else None
    return replace(mismatch, line=line)


def _touches(event: Event, index: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    tile = event.tile
    if tile is None or tile.active is None or len(tile.active) != len(index):
        return False
    if tile.elements is not None:
        return int(np.ravel_multi_index(index, shape)) in tile.elements if index else True
    return all(start <= i < stop for i, (start, stop) in zip(index, tile.active, strict=True))


def _first(findings: Sequence[Finding], kind: str) -> Finding | None:
    return next((f for f in findings if f.kind == kind), None)


def _early_read(mismatch: Mismatch, findings: Sequence[Finding], trace: Trace | None) -> Event | None:
    """The access that read the first wrong element before anything was stored to it, if that is why it is NaN."""
    if trace is None or not math.isnan(mismatch.first_values[0]) or _first(findings, "nan_born"):
        return None
    touching = (e for e in trace.events if e.tensor == mismatch.output and _touches(e, mismatch.first, mismatch.shape))
    first = next(touching, None)
    return first if first is not None and first.kind in ("load", "atomic") else None


@dataclass(frozen=True)
class _Explanation:
    """The words for a wrong case. `early` is the access that read the first wrong element before any store to it."""

    puzzle: Puzzle
    source: KernelSource
    failure: Failure
    mismatch: Mismatch
    findings: Sequence[Finding]
    early: Event | None
    kept_in_memory: bool
    """Whether a right kernel may load the output again, too."""

    @property
    def trace(self) -> Trace | None:
        return self.failure.outcome.trace

    @cached_property
    def cause(self) -> Finding | None:
        """The finding that explains the wrong value. A NaN that a load brought in explains more than one that an operation made of it."""
        got, _ = self.mismatch.first_values
        born = "nan_born" if math.isnan(got) else "inf_born" if got == math.inf else ""
        undefined = _first(self.findings, "undefined_lanes")
        return undefined or (None if self.nan is not None else _first(self.findings, born))

    @cached_property
    def nan(self) -> tuple[Event, str] | None:
        """The load that brought the NaN in, and the element: only memory that may hold anything holds NaN."""
        undefined, (got, _) = _first(self.findings, "undefined_lanes"), self.mismatch.first_values
        if undefined is not None or not math.isnan(got):
            return None
        return nan_loaded(self.failure.outcome, self.mismatch.writer)

    def line(self) -> int | None:
        """The line that is at fault."""
        if self.cause is not None:
            return self.cause.line
        if self.nan is not None:
            return self.nan[0].line
        return self.mismatch.line if self.early is None else self.early.line

    def message(self) -> str:
        mismatch, outcomes = self.mismatch, self.failure.outcomes
        got, expected = _distinct(*mismatch.first_values)
        bad = sum(1 for o in outcomes if o.ran and not o.right)
        many = f" in this case, and {bad} of {len(outcomes)} cases fail" if len(outcomes) > 1 else ""
        are = "is" if mismatch.wrong == 1 else "are"
        parts = [
            f"{element(mismatch.output, mismatch.first)} is {got}, but should be {expected} ({described(mismatch.case)}).",
            f"{mismatch.wrong:,} of {count(mismatch.total, 'element')} {are} wrong{many}.",
            self._writer(),
            self._reason(),
            self.failure.experiment,
        ]
        return " ".join(filter(None, parts))

    def _writer(self) -> str:
        mismatch = self.mismatch
        if mismatch.writer is not None and self.trace is not None:
            where = at_line(self.source, mismatch.line)
            return f"{program(mismatch.writer, self.trace.grid).capitalize()} stored it{where}."
        if mismatch.writers is not None:
            return "No program stored it: it still holds what was there before the launch."
        return ""

    def _reason(self) -> str:
        if self.cause is not None:
            words = in_words(self.cause, self.source, self.trace)
            return f"{words} {words.why}".strip()
        if self.early is not None:
            where = self.source.line_words(self.early.line)
            does = "adds to" if self.early.kind == "atomic" else "reads"
            held = f"{where[0].upper()}{where[1:]} {does} what {short(self.early.tensor)} held before the launch"
            return f"{held}: the check fills outputs with NaN, and on a GPU they may hold anything."
        if self.nan is not None:
            where = self.source.line_words(self.nan[0].line)
            return f"{where[0].upper()}{where[1:]} let the NaN in: {self.nan[1]} holds one, and 0 · NaN is NaN."
        return ""

    def advice(self) -> str:
        mismatch, (got, _) = self.mismatch, self.mismatch.first_values
        outside = _first(self.findings, "out_of_bounds_load") or _first(self.findings, "out_of_bounds_store")
        if self.cause is not None and self.cause.kind == "undefined_lanes":
            return in_words(self.cause, self.source, self.trace).advice
        if mismatch.writer is None and mismatch.writers is not None and not (outside and outside.guard):
            return "For a small case, write down which elements each program stores. Together, they must cover the whole output."
        if outside is not None:
            followed = followed_entry(self.puzzle, self.failure.outcome, outside, self.source)
            if followed:
                return followed
            where = at_line(self.source, outside.line, " of ")
            check = CHECK_STRIDES if outside.guard else "Check that pointer first: it has no mask."
            return f"Lanes{where} also fall outside {short(outside.tensor or 'the tensor')}. {check}"
        if self.early is not None:
            if self.kept_in_memory:
                return "On the first visit nothing has been stored yet: store the first values without loading any."
            return "Nothing sets the output to 0 for you. Keep the sum in a variable of the program, and store it once, when it is final."
        if self.cause is not None:
            return f"{in_words(self.cause, self.source, self.trace).advice} {self._by_hand()}".strip()
        if self.nan is not None:
            return f"May that load touch {self.nan[1]}? Switch off the lanes that hold nothing."
        if math.isnan(got):
            return f"0 / 0, inf - inf and inf / inf give NaN. Which of them can happen there? {self._by_hand()}".strip()
        if math.isinf(got):
            return f"Which number is too large for its type, or divided by 0? {self._by_hand()}".strip()
        return (
            self._by_hand()
            or "Watch the film of this case: where does your program first do something you did not mean?"
        )

    def _by_hand(self) -> str:
        """What to work out by hand, if the card shows every number that takes."""
        if not self.mismatch.by_hand:
            return ""
        name = element(self.mismatch.output, self.mismatch.first)
        numbers = join(short(one.tensor) for one in self.mismatch.inputs)
        return f"Work out {name} by hand from the numbers of {numbers} below. Where does your program first do something else?"


def _distinct(got: float, expected: float) -> tuple[str, str]:
    """Both values, with enough figures to tell them apart."""
    values = number(got), number(expected)
    return values if values[0] != values[1] else (f"{got:.9g}", f"{expected:.9g}")
