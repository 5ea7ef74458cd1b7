"""Offsets past 2³¹: what a kernel does to tensors so large that 32 bits do not count their elements.

Such a matrix is 8 GB in float32, and none is made: the simulator takes the rows of a small one to lie so far apart that the
last one begins past 2³¹. A kernel that is right on the small matrix and wrong here fails the `memory` gate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from checker.judge.launches import Prepared, counted, far_apart
from checker.judge.memory_gate import GATE, findings_of_addresses, memory_findings
from checker.judge.outcome import Outcome, simulate
from checker.judge.phrases import at_line, join, name_of
from checker.judge.runner import Runner
from checker.judge.verdict import Diagnosis, GateResult
from checker.misconceptions import bank
from checker.puzzle import Long, Puzzle
from checker.submission.kernel import KernelSource

COUNTED = 3
"""As many rows at least, so that the distance between two of them still fits in 32 bits."""
MISCONCEPTION = "offset_in_32_bits"
"""The belief behind it, in the bank of every puzzle with long tensors."""


def passing(rows: int) -> int:
    """Elements from row to row, a multiple of 16, with which the last row begins past 2³¹ and none before it."""
    return -(-(2**31) // (rows - 1) // 16) * 16


def fitting(rows: int) -> int:
    """The same, with which all offsets fit in 32 bits."""
    return (2**31 - 2**20) // rows // 16 * 16


@dataclass(frozen=True)
class FarLaunch:
    """A launch of `near` whose `long` tensors lie far apart."""

    long: Long
    near: Prepared
    far: Prepared


def far_launches(puzzle: Puzzle, prepared: Sequence[Prepared]) -> list[FarLaunch]:
    """For each sort of long tensors the smallest launch of `prepared` that has enough rows, with its rows far apart."""
    found = []
    for long in puzzle.long:
        chosen = min((p for p in prepared if min(_rows(long, p)) >= COUNTED), key=lambda p: p.elements, default=None)
        if chosen is not None:
            found.append(FarLaunch(long, chosen, far_apart(puzzle, chosen, long, passing)))
    return found


def failed(source: KernelSource, launch: FarLaunch, outcome: Outcome) -> GateResult | None:
    """The gate's result for a kernel that is right in every case of the course; None where it is right here, too."""
    if not outcome.ran:
        return None  # it ran before: what stops it now is no finding about its offsets
    findings = findings_of_addresses(outcome)
    if outcome.right and not findings:
        return None
    line = min((f.line for f in findings if f.line is not None), default=None)  # a load before the store
    unit = launch.long.unit
    name, last = launch.long.tensors[0], _rows(launch.long, launch.near)[0] - 1
    apart = passing(last + 1)
    return GateResult(
        GATE,
        "failed",
        f"With more than 2³¹ elements in {join(name_of(n) for n in launch.long.tensors)} the kernel reaches the wrong memory"
        f"{at_line(source, line)}. Tried with each {unit} of {name_of(name)} {apart:,} elements after the one before "
        f"({outcome.case.name}): {unit} {last} begins at element {last * apart:,}, more than 2³¹ - 1 = 2,147,483,647, and a product "
        f"of 32 bits wraps around to {last * apart - 2**32:,}.",
        line=line,
        advice=f"Make the {unit}'s number 64 bits wide before it is multiplied by the stride: `.to(tl.int64)`.",
        case=outcome.case,
    )


def diagnosis(
    puzzle: Puzzle, source: KernelSource, runner: Runner, launch: FarLaunch, result: GateResult
) -> Diagnosis | None:
    """The misconception, if the same launch is right where all offsets fit in 32 bits: then nothing but their size is the cause."""
    near = next(iter(simulate(puzzle, source, runner, [far_apart(puzzle, launch.near, launch.long, fitting)])))
    known = next((m for m in bank(puzzle.name) if m.name == MISCONCEPTION), None)
    if known is None or not near.ran or not near.right or memory_findings(near):
        return None
    return Diagnosis(known.name, known.believed, known.instead, known.try_, result.line)


def _rows(long: Long, prepared: Prepared) -> list[int]:
    return [counted(prepared.tensors[name], long) for name in long.tensors]
