"""Offsets past 2³¹: a missing cast fails the memory gate, with its line and its name, from row softmax on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checker.course import LADDER, PUZZLES
from checker.judge.large_launches import far_launches, fitting, passing
from checker.judge.launches import prepare, whole
from checker.misconceptions import bank
from checker.puzzle import Case
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


def test_every_puzzle_with_strides_asks_for_it_from_row_softmax_on():
    strided = {p.name for p in LADDER if any(name.startswith("stride") for name in p.parameters)}
    assert {p.name for p in LONG} == strided


@pytest.mark.exhaustive
@pytest.mark.parametrize("puzzle", LONG, ids=lambda p: p.name)
def test_a_launch_is_made_for_each_and_the_bank_has_a_kernel_that_it_stops(puzzle):
    assert len(far_launches(puzzle, prepared(puzzle))) == len(puzzle.long)
    assert "offset_in_32_bits" in {m.name for m in bank(puzzle.name)}


@pytest.mark.exhaustive
@pytest.mark.parametrize("puzzle", LONG, ids=lambda p: p.name)
def test_a_product_in_32_bits_fails_the_memory_gate_at_its_line(puzzle, runner):
    verdict = judge(puzzle, in_32_bits(solution(puzzle.name)), runner)
    assert (verdict.failure.gate, verdict.failure.status, verdict.score) == ("memory", "failed", 0)
    assert "more than 2³¹" in verdict.failure.message
    assert "`.to(tl.int64)`" in verdict.failure.advice
    assert verdict.diagnosis.misconception == "offset_in_32_bits"
    line = verdict.source.split("\n")[verdict.failure.line - verdict.first_line]
    assert ".load(" in line
    assert verdict.diagnosis.line == verdict.failure.line


def test_the_words_are_those_of_the_tensor_and_the_number(runner):
    verdict = judge(PUZZLES["row_softmax"], in_32_bits(solution("row_softmax")), runner)
    for words in (
        "in x and y",
        "1,073,741,824",
        "row 2 begins at element 2,147,483,648",
        "wraps around to -2,147,483,648",
    ):
        assert words in verdict.failure.message


def test_one_tensor_in_32_bits_is_enough(runner):
    source = changed(solution("tiled_softmax"), "y_ptr + offs_m.to(tl.int64)", "y_ptr + offs_m")
    verdict = judge(PUZZLES["tiled_softmax"], source, runner)
    line = verdict.source.split("\n")[verdict.failure.line - verdict.first_line]
    assert "tl.store(" in line


def test_what_is_wrong_at_a_large_stride_alone_is_no_such_belief(runner):
    row = "row = tl.program_id(0).to(tl.int64)"
    source = changed(solution("row_softmax"), row, f"{row} * tl.where(stride_xm > 1000000, 0, 1)")
    verdict = judge(PUZZLES["row_softmax"], source, runner)
    assert verdict.failure.gate == "memory"
    assert verdict.diagnosis.misconception is None


def test_a_pointer_that_walks_in_steps_of_a_tile_is_right(runner):
    source = solution("flash_attention")
    old = "k = tl.load(k_ptr + cols[:, None] * stride_kn + offs_d[None, :]"
    new = "k = tl.load(k_ptr + offs_n[:, None] * stride_kn + offs_d[None, :]"
    source = changed(
        changed(source, old, new), "        m_i = m_new", "        m_i = m_new\n        k_ptr += BLOCK_N * stride_kn"
    )
    assert judge(PUZZLES["flash_attention"], source, runner).passed


@pytest.mark.parametrize("rows", [3, 4, 37, 100])
def test_the_last_row_passes_2_to_the_31_and_none_before_it(rows):
    assert passing(rows) * (rows - 2) < 2**31 <= passing(rows) * (rows - 1)
    assert passing(rows) % 16 == fitting(rows) % 16 == 0
    assert fitting(rows) * rows < 2**31


def test_far_rows_cost_no_memory_and_the_kernel_is_told_their_stride():
    puzzle = PUZZLES["row_softmax"]
    (launch,) = far_launches(puzzle, [prepare(puzzle, Case({"M": 3, "N": 16}, {"BLOCK_N": 16}))])
    arguments = launch.prepared.launch.arguments
    assert (arguments["stride_xm"], arguments["stride_ym"]) == (2**30, 2**30)
    assert launch.prepared.launch.far == {"x_ptr": (2**30, 1), "y_ptr": (2**30, 1)}
    assert launch.prepared.launch.grid == launch.near.launch.grid
    for name, tensor in launch.near.tensors.items():
        assert arguments[name] is tensor
        assert whole(tensor).numel() < 10_000
