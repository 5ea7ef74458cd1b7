"""Offsets past 2³²: from row softmax on, a missing cast fails the memory gate, which names the line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checker.course import LADDER, PUZZLES
from checker.judge.large_launches import far_launches
from checker.judge.launches import prepare
from checker.misconceptions import bank, quick
from checker.submission.kernel import KernelSource
from tests.judge.helpers import changed, cpu_cases, judge, solution

LONG = [puzzle for puzzle in LADDER if puzzle.long]


def in_32_bits(source: KernelSource) -> KernelSource:
    """The same kernel without its casts to int64; lines keep their numbers."""
    text = source.source.replace(".to(tl.int64)", "")
    assert text != source.source
    return replace(source, source=text)


def prepared(puzzle):
    return [prepare(puzzle, case) for case in cpu_cases(puzzle)]


def test_every_puzzle_with_strides_has_a_far_launch_and_a_wrong_kernel_that_it_stops():
    strided = {p.name for p in LADDER if any(name.startswith("stride") for name in p.parameters)}
    assert {p.name for p in LONG} == strided
    for puzzle in LONG:
        assert len(far_launches(puzzle, prepared(puzzle))) == len(puzzle.long), puzzle.name
        assert "offset_in_32_bits" in {wrong.name for wrong in bank(puzzle.name)}, puzzle.name


@pytest.mark.parametrize("name", ["row_softmax", "flash_attention", "linear_attention"])
def test_a_product_in_32_bits_fails_the_memory_gate_at_its_line(name, runner):
    verdict = judge(quick(PUZZLES[name]), in_32_bits(solution(name)), runner)
    assert (verdict.failure.gate, verdict.failure.status, verdict.score) == ("memory", "failed", 0)
    assert "more than 2³¹" in verdict.failure.message
    if name == "row_softmax":
        assert "begins at element 4,294,967,296" in verdict.failure.message
    assert "`.to(tl.int64)`" in verdict.failure.advice
    assert verdict.diagnosis.misconception == "offset_in_32_bits"
    line = verdict.source.split("\n")[verdict.failure.line - verdict.first_line]
    assert ".load(" in line
    assert verdict.diagnosis.line == verdict.failure.line


def test_one_tensor_in_32_bits_is_enough(runner):
    source = changed(solution("tiled_softmax"), "y_ptr + offs_m.to(tl.int64)", "y_ptr + offs_m")
    verdict = judge(PUZZLES["tiled_softmax"], source, runner)
    line = verdict.source.split("\n")[verdict.failure.line - verdict.first_line]
    assert "tl.store(" in line


def test_another_mistake_at_large_strides_is_not_called_a_missing_cast(runner):
    row = "row = tl.program_id(0).to(tl.int64)"
    source = changed(solution("row_softmax"), row, f"{row} * tl.where(stride_xm > 1000000, 0, 1)")
    verdict = judge(PUZZLES["row_softmax"], source, runner)
    assert verdict.failure.gate == "memory"
    assert verdict.diagnosis.misconception is None


def test_a_pointer_that_advances_by_one_tile_at_a_time_passes(runner):
    source = solution("flash_attention")
    old = "k = tl.load(k_ptr + cols[:, None] * stride_kn + offs_d[None, :]"
    new = "k = tl.load(k_ptr + offs_n[:, None] * stride_kn + offs_d[None, :]"
    source = changed(
        changed(source, old, new), "        m_i = m_new", "        m_i = m_new\n        k_ptr += BLOCK_N * stride_kn"
    )
    assert judge(PUZZLES["flash_attention"], source, runner).passed
