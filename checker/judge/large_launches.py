"""Launches too large to make: rows so far apart that offsets pass 2³¹, and the last of very many programs.

An 8 GB matrix or 70,000 rows are never made. The simulator pretends: it takes the rows of a small matrix to be so far apart that
the last one begins past 2³¹, or runs only the last programs of a huge launch, at the addresses they would have. A kernel that is
right on the small matrix and wrong there fails the `memory` gate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from checker.course import factors
from checker.judge.launches import Prepared, bind, counted, far_apart
from checker.judge.memory_gate import GATE, findings_of_addresses, memory_findings
from checker.judge.outcome import Outcome, simulate
from checker.judge.phrases import at_line
from checker.judge.runner import Runner
from checker.judge.verdict import Diagnosis, GateResult
from checker.misconceptions import bank
from checker.phrases import join, short
from checker.puzzle import Long, Many, Puzzle
from checker.submission.kernel import KernelSource

LEAST_ROWS = 3
"""With fewer rows, the distance between two of them would itself pass 2³¹."""
MISCONCEPTION = "offset_in_32_bits"
"""The belief behind offsets that wrap, in the bank of every puzzle with long tensors."""
MOST_PROGRAMS = 65_535
"""Along the second axis of a grid (CUDA C++ Programming Guide, technical specifications)."""
_LIMITS = (
    "16 bits hold whole numbers up to 65,535, or 32,767 with a sign; float32 holds each of them up to 16,777,216, and 32 bits "
    "hold them up to 2,147,483,647."
)


@dataclass(frozen=True)
class FarLaunch:
    """The launch of `near` with its `long` tensors' rows far apart."""

    long: Long
    near: Prepared
    prepared: Prepared

    def failed(self, source: KernelSource, outcome: Outcome) -> GateResult | None:
        """The memory gate's result for a kernel that is right in every case, or None if it is right here, too."""
        wrong, line = _wrong_at(outcome)
        if not wrong:
            return None
        unit = self.long.unit
        name, last = self.long.tensors[0], _rows(self.long, self.near)[0] - 1
        apart = passing(last + 1)
        return GateResult(
            GATE,
            "failed",
            f"With more than 2³¹ elements in {join(short(n) for n in self.long.tensors)} the kernel reaches the wrong memory"
            f"{at_line(source, line)}. Tried with each {unit} of {short(name)} {apart:,} elements after the one before "
            f"({outcome.case.name}): {unit} {last} begins at element {last * apart:,}, more than 2³¹ - 1 = 2,147,483,647, and a product "
            f"of 32 bits wraps around to {last * apart - 2**32:,}.",
            line=line,
            advice=f"Make the {unit}'s number 64 bits wide before it is multiplied by the stride: `.to(tl.int64)`.",
            case=outcome.case,
        )

    def diagnosis(self, puzzle: Puzzle, source: KernelSource, runner: Runner, result: GateResult) -> Diagnosis | None:
        """The misconception, if the same launch is right with offsets that fit in 32 bits: then only their size is to blame."""
        fits = far_apart(puzzle, self.near, self.long, fitting)
        near = next(simulate(puzzle, source, runner, [fits]))
        belief = next((m for m in bank(puzzle.name) if m.name == MISCONCEPTION), None)
        if belief is None or not near.right or memory_findings(near):
            return None
        return Diagnosis(belief.name, belief.believed, belief.instead, belief.try_, result.line)


@dataclass(frozen=True)
class LateLaunch:
    """A launch of which only the last programs run, after the `first` rows, elements or groups."""

    many: Many
    first: int
    prepared: Prepared

    def failed(self, source: KernelSource, outcome: Outcome) -> GateResult | None:
        """The memory gate's result for a kernel that is right in every case, or None if it is right here, too."""
        wrong, line = _wrong_at(outcome)
        if not wrong:
            return None
        unit = self.many.unit
        return GateResult(
            GATE,
            "failed",
            f"After {self.first:,} other {unit}s the kernel reaches the wrong memory{at_line(source, line)}. Tried with the last "
            f"{unit}s of a launch that has so many: {outcome.case.name}, where the first {unit} has the number {self.first:,}. {_LIMITS}",
            line=line,
            advice="Keep a program's number in the type that `tl.program_id` gives, and make it 64 bits wide, `.to(tl.int64)`, before it "
            "is multiplied.",
            case=outcome.case,
        )


def _wrong_at(outcome: Outcome) -> tuple[bool, int | None]:
    """Whether a launch reached the wrong memory, and the first line that did. One that was stopped says nothing about offsets."""
    findings = findings_of_addresses(outcome) if outcome.ran else []
    line = min((f.line for f in findings if f.line is not None), default=None)  # a load before the store
    return outcome.ran and (not outcome.right or bool(findings)), line


# ------------------------------------------------------------------------------------------------------------ far apart


def passing(rows: int) -> int:
    """Elements from row to row, a multiple of 16, with which only the last row begins past 2³¹."""
    return -(-(2**31) // (rows - 1) // 16) * 16


def fitting(rows: int) -> int:
    """Elements from row to row, a multiple of 16, with which all offsets fit in 32 bits."""
    return (2**31 - 2**20) // rows // 16 * 16


def far_launches(puzzle: Puzzle, prepared: Sequence[Prepared]) -> list[FarLaunch]:
    """For each kind of long tensors, the smallest launch of `prepared` that has enough rows, with its rows far apart."""
    launches = []
    for long in puzzle.long:
        enough = [p for p in prepared if min(_rows(long, p)) >= LEAST_ROWS]
        if enough:
            near = min(enough, key=lambda p: p.elements)
            launches.append(FarLaunch(long, near, far_apart(puzzle, near, long, passing)))
    return launches


def _rows(long: Long, prepared: Prepared) -> list[int]:
    return [counted(prepared.tensors[name], long) for name in long.tensors]


# ------------------------------------------------------------------------------------------------------------- many late


def late_launches(puzzle: Puzzle, prepared: Sequence[Prepared]) -> list[LateLaunch]:
    """The smallest of `prepared` as the end of a launch with very many rows, elements or groups, for each such size."""
    launches = []
    for many in puzzle.many:
        fit = [one for one in prepared if _launchable(one, many)]
        if fit:
            launches.append(_late(puzzle, many, min(fit, key=lambda one: (_ragged(one, many), one.elements))))
    return launches


def _late(puzzle: Puzzle, many: Many, near: Prepared) -> LateLaunch:
    case, real = near.case, near.tensors
    tile = factors.tile_of(many.size, case.meta)
    # skip whole tiles, and keep the alignment of every address
    width = math.lcm(16, case.meta[tile] if tile else 1)
    first = -(-(many.first or 2**31 // _each(near, many) + 1) // width) * width
    shapes = {
        name: torch.empty_strided(_longer(tensor, many, first), tensor.stride(), dtype=tensor.dtype, device="meta")
        if name in many.tensors
        else tensor
        for name, tensor in real.items()
    }
    larger = replace(case, sizes={**case.sizes, many.size: case.sizes[many.size] + first})
    launch = bind(puzzle, larger, shapes, near.config)
    skipped = [0, 0, 0]
    skipped[many.grid] = int(launch.grid[many.grid]) - int(near.launch.grid[many.grid])
    begins = {name: first * real[name].stride(many.axis) for name in many.tensors}
    arguments = {**launch.arguments, **real}
    launch = replace(launch, arguments=arguments, skipped=(skipped[0], skipped[1], skipped[2]), begins=begins)
    return LateLaunch(many, first, replace(near, launch=launch))


def _ragged(prepared: Prepared, many: Many) -> bool:
    """Whether the last tile is not full: lanes past the edge may load the first rows again, which are not made."""
    case = prepared.case
    tile = factors.tile_of(many.size, case.meta)
    return tile is not None and case.sizes[many.size] % case.meta[tile] > 0


def _each(prepared: Prepared, many: Many) -> int:
    """Elements of one row or group in the tensor that has most."""
    return max(prepared.tensors[name].stride(many.axis) for name in many.tensors)


def _longer(tensor: torch.Tensor, many: Many, by: int) -> tuple[int, ...]:
    shape = list(tensor.shape)
    shape[many.axis] += by
    return tuple(shape)


def _launchable(prepared: Prepared, many: Many) -> bool:
    """Whether the case has several rows or groups along this axis alone, and a GPU could launch all that come before."""
    alone = all(set(prepared.tensors[name].shape[: many.axis]) <= {1} for name in many.tensors)
    few = many.first is not None or 2**31 // _each(prepared, many) < MOST_PROGRAMS
    return alone and few and prepared.case.sizes[many.size] >= 3
