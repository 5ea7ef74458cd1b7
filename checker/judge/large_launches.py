"""Launches too large to make: rows so far apart that offsets pass 2³², and the last of very many programs.

Nobody allocates an 8 GB matrix or 70,000 rows. The simulator pretends that the rows of a small matrix are so far apart that the last
one begins past 2³², or runs only the last programs of a huge launch, at the addresses that they would have. A kernel that is right on
the small matrix and wrong there fails the `memory` gate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from checker.judge import factors
from checker.judge.diagnosis import NONE_KNOWN
from checker.judge.launches import Prepared, bind, counted, far_apart
from checker.judge.memory_gate import GATE, findings_of_addresses, memory_findings
from checker.judge.outcome import Candidate, Outcome
from checker.judge.phrases import at_line
from checker.judge.verdict import Diagnosis, GateResult
from checker.misconceptions import bank
from checker.phrases import join, short
from checker.puzzle import Long, Many, Puzzle
from checker.submission.kernel import KernelSource

LEAST_ROWS, ENOUGH_ROWS = 3, 4
"""With fewer rows, the distance between two of them would itself pass 2³¹: with two at once, with three before the last passes 2³²."""
MISCONCEPTION = "offset_in_32_bits"
"""The belief behind offsets that wrap, in the bank of every puzzle with long tensors."""
MOST_PROGRAMS = 65_535
"""Along the second axis of a grid (CUDA C++ Programming Guide, technical specifications)."""
_LIMITS = (
    "16 bits hold whole numbers up to 65,535, or 32,767 with a sign; float32 holds each of them up to 16,777,216, and 32 bits "
    "hold them up to 2,147,483,647."
)


@dataclass(frozen=True)
class LargeLaunch:
    """A launch that the simulator pretends to make."""

    prepared: Prepared

    def failed(self, source: KernelSource, outcome: Outcome) -> GateResult | None:
        """The memory gate's result for a kernel that is right in every case, or None if it is right here, too.

        A launch that was stopped says nothing about offsets.
        """
        findings = findings_of_addresses(outcome) if outcome.ran else []
        if not outcome.ran or (outcome.right and not findings):
            return None
        line = min((f.line for f in findings if f.line is not None), default=None)  # a load before the store
        message, advice = self.words(at_line(source, line))
        return GateResult(GATE, "failed", message, line=line, advice=advice, case=outcome.case)

    def words(self, where: str) -> tuple[str, str]:
        """What is wrong, and advice. `where` names the line."""
        raise NotImplementedError

    def diagnosis(self, candidate: Candidate, result: GateResult) -> Diagnosis:
        return NONE_KNOWN


@dataclass(frozen=True)
class FarLaunch(LargeLaunch):
    """The launch of `near` with its `long` tensors' rows far apart."""

    long: Long
    near: Prepared

    def words(self, where: str) -> tuple[str, str]:
        unit, name, last = self.long.unit, short(self.long.tensors[0]), _rows(self.long, self.near)[0] - 1
        apart = passing(last + 1)
        begins = last * apart
        return (
            f"With more than 2³¹ elements in {join(map(short, self.long.tensors))} the kernel reaches the wrong memory{where}. "
            f"Tried with each {unit} of {name} {apart:,} elements after the one before ({self.prepared.case.name}): {unit} {last} "
            f"begins at element {begins:,}, more than 2³¹ - 1 = 2,147,483,647, and a product of 32 bits wraps around to "
            f"{begins - 2**32:,}.",
            f"Make the {unit}'s number 64 bits wide before it is multiplied by the stride: `.to(tl.int64)`.",
        )

    def diagnosis(self, candidate: Candidate, result: GateResult) -> Diagnosis:
        """The misconception, if the same launch is right with offsets that fit in 32 bits: then only their size is to blame."""
        belief = next((m for m in bank(candidate.puzzle.name) if m.name == MISCONCEPTION), None)
        near = next(candidate.simulate([far_apart(candidate.puzzle, self.near, self.long, fitting)]))
        if belief is None or not near.right or memory_findings(near):
            return NONE_KNOWN
        return Diagnosis(belief.name, belief.believed, belief.instead, belief.try_, result.line)


@dataclass(frozen=True)
class LateLaunch(LargeLaunch):
    """A launch of which only the last programs run, after the `first` rows, elements or groups."""

    many: Many
    first: int

    def words(self, where: str) -> tuple[str, str]:
        unit = self.many.unit
        return (
            f"After {self.first:,} other {unit}s the kernel reaches the wrong memory{where}. Tried with the last {unit}s of a launch "
            f"that has so many: {self.prepared.case.name}, where the first {unit} has the number {self.first:,}. {_LIMITS}",
            "Keep a program's number in the type that `tl.program_id` gives, and make it 64 bits wide, `.to(tl.int64)`, before it is "
            "multiplied.",
        )


def passing(rows: int) -> int:
    """Elements from row to row, a multiple of 16 below 2³¹, with which the last row begins past 2³², or past 2³¹ if it is the third."""
    return min(-(-(2**32) // (rows - 1) // 16) * 16, 2**31 - 16)


def fitting(rows: int) -> int:
    """Elements from row to row, a multiple of 16, with which all offsets fit in 32 bits."""
    return (2**31 - 2**20) // rows // 16 * 16


def far_launches(puzzle: Puzzle, prepared: Sequence[Prepared]) -> list[FarLaunch]:
    """For each kind of long tensors, the smallest launch of `prepared` that has enough rows, if any has, with its rows far apart."""
    launches = []
    for long in puzzle.long:
        enough = [p for p in prepared if min(_rows(long, p)) >= LEAST_ROWS and _separable(long, p)]
        if enough:
            near = min(enough, key=lambda p: (min(_rows(long, p)) < ENOUGH_ROWS, p.elements))
            launches.append(FarLaunch(far_apart(puzzle, near, long, passing), long, near))
    return launches


def _separable(long: Long, prepared: Prepared) -> bool:
    """Whether a row of each tensor, with the gaps between its elements, is shorter than the distance that is pretended between rows."""

    def extent(tensor: torch.Tensor) -> int:
        others = (axis for axis in range(tensor.dim()) if axis not in long.axes)
        return 1 + sum((tensor.shape[axis] - 1) * tensor.stride(axis) for axis in others)

    tensors = [prepared.tensors[name] for name in long.tensors]
    return all(extent(tensor) <= passing(counted(tensor, long)) for tensor in tensors)


def _rows(long: Long, prepared: Prepared) -> list[int]:
    return [counted(prepared.tensors[name], long) for name in long.tensors]


def late_launches(puzzle: Puzzle, prepared: Sequence[Prepared]) -> list[LateLaunch]:
    """The smallest of `prepared` as the end of a launch with very many rows, elements or groups, for each such size."""
    launches = []
    for many in puzzle.many:
        possible = [one for one in prepared if _launchable(one, many)]
        if possible:
            launches.append(_late(puzzle, many, min(possible, key=lambda one: (_ragged(one, many), one.elements))))
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
    return LateLaunch(replace(near, launch=launch), many, first)


def _ragged(prepared: Prepared, many: Many) -> bool:
    """Whether the last tile is partial. Its lanes past the edge may load the first rows again, which do not exist here."""
    case = prepared.case
    tile = factors.tile_of(many.size, case.meta)
    return tile is not None and case.sizes[many.size] % case.meta[tile] > 0


def _each(prepared: Prepared, many: Many) -> int:
    """Elements of one row or group, in the tensor whose rows are longest."""
    return max(prepared.tensors[name].stride(many.axis) for name in many.tensors)


def _longer(tensor: torch.Tensor, many: Many, by: int) -> tuple[int, ...]:
    shape = list(tensor.shape)
    shape[many.axis] += by
    return tuple(shape)


def _launchable(prepared: Prepared, many: Many) -> bool:
    """Whether the case has several rows or groups along this axis alone, and a GPU could launch all the earlier ones."""
    alone = all(set(prepared.tensors[name].shape[: many.axis]) <= {1} for name in many.tensors)
    few = many.first is not None or 2**31 // _each(prepared, many) < MOST_PROGRAMS
    return alone and few and prepared.case.sizes[many.size] >= 3
