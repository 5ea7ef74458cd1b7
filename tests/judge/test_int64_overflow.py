"""Offsets past 2³¹: the missing cast is told, with its line, and fails nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from checker.course import LADDER, PUZZLES
from checker.judge.launches import PITCH, prepare, whole, with_rows_far_apart
from checker.submission.kernel import KernelSource
from tests.judge.helpers import judge, solution

LONG = [puzzle for puzzle in LADDER if puzzle.long]


def in_32_bits(source: KernelSource) -> KernelSource:
    """The same kernel without its casts to int64; lines keep their numbers."""
    text = source.source.replace(".to(tl.int64)", "")
    assert text != source.source
    return replace(source, source=text)


def line_of(warning, verdict):
    return verdict.source.split("\n")[warning.line - verdict.first_line]


def warnings(verdict):
    return [warning for gate in verdict.gates for warning in gate.warnings]


def test_the_softmax_ladder_is_tried_so():
    assert {p.name for p in LONG} >= {"row_softmax", "chunked_softmax", "online_softmax", "tiled_softmax"}


@pytest.mark.parametrize("puzzle", LONG, ids=lambda p: p.name)
def test_a_product_in_32_bits_is_told_and_fails_no_gate(puzzle, runner):
    verdict = judge(puzzle, in_32_bits(solution(puzzle.name)), runner)
    assert verdict.passed
    (warning,) = warnings(verdict)
    assert "`.to(tl.int64)`" in warning.message
    assert "rows of x and y" in warning.message
    assert "tl.load(" in line_of(warning, verdict)


def test_one_tensor_in_32_bits_is_enough(runner):
    right = solution("tiled_softmax")
    text = right.source.replace("y_ptr + offs_m.to(tl.int64)", "y_ptr + offs_m")
    assert text != right.source
    verdict = judge(PUZZLES["tiled_softmax"], replace(right, source=text), runner)
    (warning,) = warnings(verdict)
    assert "tl.store(" in line_of(warning, verdict)


def test_far_rows_cost_no_memory_and_the_kernel_is_told_their_stride():
    puzzle = PUZZLES["row_softmax"]
    prepared = prepare(puzzle, puzzle.cases[0])
    far = with_rows_far_apart(puzzle, prepared)
    assert (far.launch.arguments["stride_xm"], far.launch.arguments["stride_ym"]) == (PITCH, PITCH)
    assert far.launch.far == {"x_ptr": (PITCH, 1), "y_ptr": (PITCH, 1)}
    assert far.launch.grid == prepared.launch.grid
    for name, tensor in prepared.launch.arguments.items():
        if isinstance(tensor, torch.Tensor):
            assert far.launch.arguments[name] is tensor
            assert whole(tensor).numel() < 10_000
