"""Each puzzle's cases and tolerance reject trivial answers in every dtype, and its solution passes with twice the margin."""

from __future__ import annotations

from itertools import chain

import pytest
import torch

from checker.course import LADDER
from checker.judge import memory_gate, traffic_gate
from checker.judge.comparison import compare
from checker.judge.launches import plan, prepare, prepare_all
from checker.judge.outcome import Candidate
from tests.judge.helpers import cpu_cases, solution

MARGIN = 0.5
MARGIN_IN_CHUNKS = 0.53
"""A kernel in chunks adds two products with TF32 operands, scores by values and queries by state. In float32, with cold values or growing
ones, their roundings reach 0.523."""


def zeros(puzzle, prepared):
    return {name: torch.zeros_like(expected) for name, expected in prepared.expected.items()}


def uniform(puzzle, prepared):
    finite = {name: torch.where(expected.isfinite(), expected, 0.0) for name, expected in prepared.expected.items()}
    return {name: value.mean(dim=-1, keepdim=True).expand(value.shape).clone() for name, value in finite.items()}


def copy_of_input(puzzle, prepared):
    inputs = [t.double() for name, t in prepared.tensors.items() if name not in puzzle.outputs]
    number = inputs[0].reshape(-1)[0]
    return {
        name: next((t for t in inputs if t.shape == expected.shape), number.expand(expected.shape))
        for name, expected in prepared.expected.items()
    }


def tiles(case):
    return [size for name, size in case.meta.items() if name.startswith("BLOCK_")]


def first_tile_only(puzzle, prepared):
    answer = {}
    tile = min(tiles(prepared.case))
    for name, expected in prepared.expected.items():
        index = torch.arange(expected.numel()).reshape(expected.shape)
        columns = max(expected.shape[-1], 1) if expected.ndim > 1 else index.numel() + 1
        answer[name] = torch.where((index % columns < tile) & (index // columns < tile), expected, 0.0)
    return answer


def in_half_precision(puzzle, prepared):
    inputs = {name: t.half().double() if t.is_floating_point() else t for name, t in prepared.tensors.items()}
    return {name: t.half().double() for name, t in puzzle.reference(prepared.case, inputs).items()}


def softmax_without_the_maximum(puzzle, prepared):
    e = torch.exp(prepared.launch.arguments["x_ptr"].float())
    return {"y_ptr": e / e.sum(dim=-1, keepdim=True)}


def wrong(puzzle, case, answer):
    prepared = prepare(puzzle, case)
    return compare(puzzle, prepared, answer(puzzle, prepared), None).mismatch is not None


def larger_than_a_tile(puzzle, case):
    shapes = [tensor.shape for name, tensor in puzzle.make(case).items() if name in puzzle.outputs]
    return bool(tiles(case)) and any(max(shape) > min(tiles(case)) for shape in shapes)


@pytest.mark.parametrize("puzzle", LADDER, ids=lambda puzzle: puzzle.name)
def test_trivial_answers_fail(puzzle):
    for dtype in puzzle.tolerance:
        if cases := cpu_cases(puzzle, dtype):
            for answer in (zeros, uniform, copy_of_input) if puzzle.name != "tile_copy" else (zeros, uniform):
                assert any(wrong(puzzle, case, answer) for case in cases), (answer.__name__, dtype)
    single = cpu_cases(puzzle, "float32")
    assert any(wrong(puzzle, case, in_half_precision) for case in single)
    several = (case for case in cpu_cases(puzzle) if larger_than_a_tile(puzzle, case))
    if (first := next(several, None)) is not None:
        assert any(wrong(puzzle, case, first_tile_only) for case in chain([first], several))
    if {name for name in puzzle.parameters if name.endswith("_ptr")} == {"x_ptr", "y_ptr"}:
        assert any(wrong(puzzle, case, softmax_without_the_maximum) for case in single)


@pytest.mark.parametrize("puzzle", LADDER, ids=lambda puzzle: puzzle.name)
def test_the_solution_passes_every_case_with_twice_the_margin(puzzle, runner):
    prepared = prepare_all(puzzle, plan(cpu_cases(puzzle), ()))
    outcomes = Candidate(puzzle, solution(puzzle.name), runner).simulate_cases(prepared)
    margin = MARGIN_IN_CHUNKS if "CHUNK" in puzzle.domain.tiles else MARGIN
    assert len(outcomes) == len(prepared)
    for outcome in outcomes:
        assert outcome.comparison is not None, outcome.result.message
        assert outcome.comparison.worst <= margin, outcome.case.name
    assert memory_gate.failing_outcome(puzzle, outcomes) is None
    assert traffic_gate.failing_outcome(puzzle, outcomes) is None
