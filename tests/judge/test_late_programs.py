"""The last of very many programs: a kernel whose numbers 16 bits, float32 or 32 bits cannot hold fails the memory gate."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checker.course import LADDER, PUZZLES
from checker.judge.large_launches import late_launches
from checker.judge.launches import plan, prepare_all
from checker.judge.outcome import Candidate
from tests.judge.helpers import changed, cpu_cases, judge, solution

MANY = [puzzle for puzzle in LADDER if puzzle.many]


def late(puzzle):
    return late_launches(puzzle, prepare_all(puzzle, plan(cpu_cases(puzzle), ())))


def test_the_solutions_pass_it(runner):
    for puzzle in MANY:
        launches = [one.prepared for one in late(puzzle)]
        candidate = Candidate(puzzle, solution(puzzle.name), runner)
        for (outcome,) in (list(candidate.simulate(launches)), candidate.simulate_cases(launches)):
            assert outcome.right, puzzle.name
            assert not outcome.trace.findings
            assert outcome.trace.grid[0] == launches[0].launch.grid[0]


@pytest.mark.parametrize("name", ["row_softmax", "tiled_softmax"])
def test_a_row_number_in_16_bits_fails_the_memory_gate(name, runner):
    source = solution(name)
    source = replace(source, source=source.source.replace(".to(tl.int64)", ".to(tl.int16).to(tl.int64)"))
    verdict = judge(PUZZLES[name], source, runner)
    assert (verdict.failure.gate, verdict.failure.status) == ("memory", "failed")
    assert "After 70,000 other rows" in verdict.failure.message
    assert "16 bits" in verdict.failure.message
    assert verdict.failure.line is not None
    assert verdict.diagnosis.misconception is None


def test_an_offset_in_float32_fails_the_memory_gate(runner):
    old = "offs_n = pid * BLOCK_N + tl.arange(0, BLOCK_N)"
    new = "offs_n = (pid * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.float32).to(tl.int32)"
    verdict = judge(PUZZLES["vector_add"], changed(solution("vector_add"), old, new), runner)
    assert verdict.failure.gate == "memory"
    assert "After 16,777,216 other elements" in verdict.failure.message


def test_a_state_past_2_to_the_31_fails_the_memory_gate(runner):
    source = changed(solution("linear_state_prefix"), ".to(tl.int64)", "")
    verdict = judge(PUZZLES["linear_state_prefix"], source, runner)
    assert verdict.failure.gate == "memory"
    assert "other groups" in verdict.failure.message
