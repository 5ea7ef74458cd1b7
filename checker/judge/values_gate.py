"""The `values` gate: is every element of every case right? If not, which comes first, who stored it, and why?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from checker.judge.finding_words import CHECK_STRIDES, in_words, sentences
from checker.judge.outcome import Outcome
from checker.judge.phrases import at_line, element, number
from checker.judge.verdict import Gate, GateResult, Mismatch
from checker.phrases import count, program, short
from checker.puzzle import Puzzle
from checker.simulator.trace import Event, Finding, Trace
from checker.submission.kernel import KernelSource

GATE: Gate = "values"

UNFINISHED: dict[str, tuple[str, str]] = {
    "runtime_error": ("The kernel stopped with an error", "Fix that line first: nothing after it has run."),
    "timeout": (
        "The kernel did not end within its time",
        "Look at what each loop tests: each iteration must move it toward the exit.",
    ),
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


def failure(puzzle: Puzzle, outcomes: Sequence[Outcome]) -> Outcome | None:
    """The outcome that the gate reports: a kernel that did not end comes first, then the first wrong case."""
    wrong = next((o for o in outcomes if o.ran and not o.right), None)
    stopped = next((o for o in outcomes if not o.ran), None)
    if stopped is not None and wrong is not None and stopped.result.status in ("infra_error", "protocol_error"):
        return wrong
    return stopped or wrong


def passed(puzzle: Puzzle, outcomes: Sequence[Outcome]) -> GateResult:
    worst = max((o.comparison.worst for o in outcomes if o.comparison), default=0.0)
    share = f"; the largest error is {worst:.0%} of what is allowed" if outcomes else ""
    return GateResult(GATE, "passed", f"Right in all {count(len(outcomes), 'case')}{share}.")


def failed(
    puzzle: Puzzle,
    source: KernelSource,
    outcomes: Sequence[Outcome],
    failing: Outcome,
    replay: Trace | None,
    apart: str,
) -> GateResult:
    """After a NaN every operation is followed in `replay`."""
    if not failing.ran:
        return unfinished(GATE, source, failing)
    assert failing.comparison is not None
    assert failing.comparison.mismatch is not None
    mismatch = _located(failing.comparison.mismatch, replay)
    findings = [f for f in failing.trace.findings if f.kind != "nan_born"] if failing.trace else []
    findings += [f for f in replay.findings if f.kind == "nan_born"] if replay else []
    wrong = _Wrong(source, failing, mismatch, findings, _early_read(mismatch, findings, replay))
    return GateResult(
        GATE,
        "failed",
        wrong.message(outcomes),
        line=wrong.line(),
        detail="\n".join(sentences((f for f in findings if f not in wrong.causes()), source, failing.trace)),
        advice=wrong.advice(apart),
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
    at = at_line(source, result.line)
    message = f"{start}{at} ({outcome.case.name}). {reason}{'.' if reason else ''}".rstrip()
    return GateResult(
        gate,
        result.status,
        message,
        line=result.line,
        detail=result.detail,
        advice=advice,
        case=outcome.case,
    )


def _located(mismatch: Mismatch, replay: Trace | None) -> Mismatch:
    """The mismatch with the line of the store that wrote its first element."""
    if replay is None or mismatch.writer is None:
        return mismatch
    written = replay.writer_lines.get(mismatch.output)
    if written is not None:
        at = int(np.asarray(written).reshape(mismatch.shape)[mismatch.first])
        return replace(mismatch, line=at or None)
    stores = [e for e in replay.events if e.kind in ("store", "atomic") and e.tensor == mismatch.output]
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


def _early_read(mismatch: Mismatch, findings: Sequence[Finding], replay: Trace | None) -> Event | None:
    """The access that read the first wrong element before anything was stored to it, if that is why it is NaN."""
    if replay is None or not math.isnan(mismatch.first_values[0]) or _first(findings, "nan_born"):
        return None
    touching = (e for e in replay.events if e.tensor == mismatch.output and _touches(e, mismatch.first, mismatch.shape))
    first = next(touching, None)
    return first if first is not None and first.kind in ("load", "atomic") else None


@dataclass(frozen=True)
class _Wrong:
    """A wrong case, to be put into words. `early` is the access that read the first wrong element before any store to it."""

    source: KernelSource
    outcome: Outcome
    mismatch: Mismatch
    findings: Sequence[Finding]
    early: Event | None

    def first(self, kind: str) -> Finding | None:
        return _first(self.findings, kind)

    def causes(self) -> list[Finding]:
        """The findings that explain the wrong value, the one that the message gives first."""
        kinds = ("undefined_lanes", "nan_born") if math.isnan(self.mismatch.first_values[0]) else ("undefined_lanes",)
        return [cause for kind in kinds if (cause := self.first(kind)) is not None]

    def line(self) -> int | None:
        """The line that is at fault."""
        for cause in self.causes():
            return cause.line
        return self.mismatch.line if self.early is None else self.early.line

    def message(self, outcomes: Sequence[Outcome]) -> str:
        mismatch, trace = self.mismatch, self.outcome.trace
        got, expected = mismatch.first_values
        name = element(mismatch.output, mismatch.first)
        parts = [
            f"{name} is {_distinct(got, expected)}, but should be {_distinct(expected, got)} ({mismatch.case.name})."
        ]
        bad = sum(1 for o in outcomes if o.ran and not o.right)
        many = f" in this case, and {bad} of {len(outcomes)} cases fail" if len(outcomes) > 1 else ""
        parts.append(
            f"{mismatch.wrong:,} of {count(mismatch.total, 'element')} {'is' if mismatch.wrong == 1 else 'are'} wrong{many}."
        )
        if mismatch.writer is not None and trace is not None:
            where = at_line(self.source, mismatch.line)
            parts.append(f"{program(mismatch.writer, trace.grid).capitalize()} stored it{where}.")
        elif mismatch.writers is not None:
            parts.append("No program stored it: it still holds what was there before the launch.")
        parts.append(self.cause())
        return " ".join(part for part in parts if part)

    def cause(self) -> str:
        for cause in self.causes():
            words = in_words(cause, self.source, self.outcome.trace)
            return f"{words} {words.why}".strip()
        if self.early is not None:
            where = self.source.line_words(self.early.line)
            does = "adds to" if self.early.kind == "atomic" else "reads"
            return f"{where[0].upper()}{where[1:]} {does} what {short(self.early.tensor)} held before the launch: the check fills outputs with NaN, and on a GPU anything may lie there."
        return ""

    def advice(self, apart: str) -> str:
        mismatch, (got, _) = self.mismatch, self.mismatch.first_values
        outside = self.first("out_of_bounds_load") or self.first("out_of_bounds_store")
        undefined = self.first("undefined_lanes")
        if undefined is not None:
            return in_words(undefined, self.source, self.outcome.trace).advice
        if mismatch.writer is None and mismatch.writers is not None and not (outside and outside.guard):
            return (
                "Write down, for a small case, which elements each program stores. Together they must be all of them."
            )
        if outside is not None:
            where = at_line(self.source, outside.line, " of ")
            check = CHECK_STRIDES if outside.guard else "Check that pointer first: it has no mask."
            return f"Lanes{where} also fall outside {short(outside.tensor or 'the tensor')}. {check} {apart}".strip()
        if self.early is not None:
            return "Nothing sets the output to 0 for you. Keep the sum in a variable of the program, and store it once, when it is final."
        if math.isnan(got):
            return f"0 / 0, inf - inf and inf / inf give NaN. Which of them can happen there, and with what values? {apart}".strip()
        if math.isinf(got):
            return f"Something grew past the largest number of its type, or was divided by 0. What keeps it from growing, and what is the divisor? {apart}".strip()
        if apart:
            return apart
        return "Work out the first row of the window by hand for the smallest failing case, or watch it with `film`: where does your program first differ?"


def _distinct(value: float, other: float) -> str:
    """Enough figures to tell the two apart."""
    short = number(value)
    return short if short != number(other) else f"{value:.9g}"
