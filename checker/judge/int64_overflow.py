"""Offsets past 2³¹: what a kernel does to a matrix so large that 32 bits do not count its elements.

Such a matrix is 8 GB in float32, and none is made: the simulator takes the rows of a small one to lie 2³⁰ elements apart. A
kernel that is right on the small matrix and wrong here multiplied in 32 bits. That is told as a warning and fails no gate,
because the first rungs ask for it nowhere; docs/decisions.md says more.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from checker.judge.launches import Prepared, with_rows_far_apart
from checker.judge.memory_gate import memory_findings
from checker.judge.outcome import Outcome
from checker.judge.phrases import join, name_of
from checker.judge.verdict import GateWarning
from checker.puzzle import Puzzle
from checker.submission.kernel import KernelSource

ROWS = 3  # row 2 is the first whose offset passes 2³¹


def overflowing_launches(puzzle: Puzzle, prepared: Sequence[Prepared]) -> list[Prepared]:
    """The smallest launch of `prepared` that has ROWS rows, with its rows far apart; none for a puzzle without long matrices."""
    chosen = min((p for p in prepared if _has_rows(puzzle, p)), key=_elements, default=None) if puzzle.long else None
    return [] if chosen is None else [with_rows_far_apart(puzzle, chosen)]


def overflow_warning(puzzle: Puzzle, source: KernelSource, outcome: Outcome) -> GateWarning | None:
    """What is worth knowing of a kernel that is right in every case of the course, after such a launch; None if it is right there."""
    if not outcome.ran:
        return None  # it ran before: what stops it now is no finding about its offsets
    findings = memory_findings(outcome)
    if outcome.right and not findings:
        return None
    line = min((f.line for f in findings if f.line is not None), default=None)  # a load before the store
    tensors = join(name_of(name) for name in puzzle.long)
    return GateWarning(
        f"In a matrix with more than 2³¹ elements this kernel would reach the wrong memory. Tried with rows of {tensors} 2³⁰ "
        "elements apart: the offset of row 2 is 2³¹, and a product of two 32-bit numbers wraps around to -2³¹. Make the row's "
        "number 64 bits wide before it is multiplied, with `.to(tl.int64)`.",
        source.own_line(line),
    )


def _has_rows(puzzle: Puzzle, prepared: Prepared) -> bool:
    return all(_rows(prepared, name) >= ROWS for name in puzzle.long)


def _rows(prepared: Prepared, name: str) -> int:
    tensor = prepared.launch.arguments[name]
    assert isinstance(tensor, torch.Tensor)
    return int(tensor.shape[0])


def _elements(prepared: Prepared) -> int:
    return sum(expected.numel() for expected in prepared.expected.values())
