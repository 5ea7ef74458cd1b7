"""The last programs of a launch with very many: what a kernel makes of large numbers of rows, elements or groups.

A matrix of 70,000 rows is not made. The simulator runs the last programs of its launch on a small matrix, and passes the
addresses at which the large one would begin. A row number kept in 16 bits, or an offset in float32, is wrong there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from checker.course import factors
from checker.judge.launches import Prepared, bind
from checker.judge.memory_gate import GATE, findings_of_addresses
from checker.judge.outcome import Outcome
from checker.judge.phrases import at_line
from checker.judge.verdict import GateResult
from checker.puzzle import Many, Puzzle
from checker.submission.kernel import KernelSource

MOST_PROGRAMS = 65_535
"""Along the second axis of a grid (CUDA C++ Programming Guide, technical specifications)."""
_LIMITS = (
    "16 bits hold whole numbers up to 65,535, or 32,767 with a sign; float32 holds each of them up to 16,777,216, and 32 bits "
    "hold them up to 2,147,483,647."
)


@dataclass(frozen=True)
class LateLaunch:
    """A launch of which only the last programs run: `first` rows, elements or groups come before theirs."""

    many: Many
    first: int
    prepared: Prepared


def late_launches(puzzle: Puzzle, prepared: Sequence[Prepared]) -> list[LateLaunch]:
    """The smallest of `prepared` as the end of a launch with very many rows, elements or groups; none where a puzzle has no such size."""
    found = []
    for many in puzzle.many:
        fit = [one for one in prepared if _launchable(one, many)]
        if fit:
            found.append(_late(puzzle, many, min(fit, key=lambda one: (_ragged(one, many), one.elements))))
    return found


def _late(puzzle: Puzzle, many: Many, near: Prepared) -> LateLaunch:
    case, real = near.case, near.tensors
    tile = factors.tile_of(many.size, case.meta)
    # whole tiles come before, and addresses stay as aligned as they are
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


def failed(source: KernelSource, late: LateLaunch, outcome: Outcome) -> GateResult | None:
    """The gate's result for a kernel that is right in every case of the course; None where it is right here, too."""
    if not outcome.ran:
        return None  # it ran before: what stops it now is nothing about its numbers
    findings = findings_of_addresses(outcome)
    if outcome.right and not findings:
        return None
    line = min((finding.line for finding in findings if finding.line is not None), default=None)
    unit = late.many.unit
    return GateResult(
        GATE,
        "failed",
        f"After {late.first:,} other {unit}s the kernel reaches the wrong memory{at_line(source, line)}. Tried with the last "
        f"{unit}s of a launch that has so many: {outcome.case.name}, where the first {unit} has the number {late.first:,}. {_LIMITS}",
        line=line,
        advice="Keep a program's number in the type that `tl.program_id` gives, and make it 64 bits wide, `.to(tl.int64)`, before it "
        "is multiplied.",
        case=outcome.case,
    )


def _ragged(prepared: Prepared, many: Many) -> bool:
    """Whether the last tile is not full. Lanes past the edge may be told to load the first rows again, which are not made."""
    case = prepared.case
    tile = factors.tile_of(many.size, case.meta)
    return tile is not None and case.sizes[many.size] % case.meta[tile] > 0


def _each(prepared: Prepared, many: Many) -> int:
    """Elements of one row or group in the tensor where it has most."""
    return max(prepared.tensors[name].stride(many.axis) for name in many.tensors)


def _longer(tensor: torch.Tensor, many: Many, by: int) -> tuple[int, ...]:
    shape = list(tensor.shape)
    shape[many.axis] += by
    return tuple(shape)


def _launchable(prepared: Prepared, many: Many) -> bool:
    """Whether the case has several rows or groups, which nothing else counts, and a GPU could launch all that come before."""
    alone = all(set(prepared.tensors[name].shape[: many.axis]) <= {1} for name in many.tensors)
    few = many.first is not None or 2**31 // _each(prepared, many) < MOST_PROGRAMS
    return alone and few and prepared.case.sizes[many.size] >= 3
