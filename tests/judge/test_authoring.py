"""No puzzle accepts a trivial answer, and every solution passes with twice the margin."""

from __future__ import annotations

import pytest
import torch

from checker.course import LADDER
from checker.judge.comparison import compare
from checker.judge.launches import plan, prepare, prepare_all
from checker.judge.outcome import simulate
from checker.puzzle import DTYPES
from tests.judge.helpers import cpu_cases, solution

pytestmark = pytest.mark.exhaustive

MARGIN = 0.5


def _several_tiles(puzzle, case):
    tiles = [v for k, v in case.meta.items() if k.startswith("BLOCK_")]
    return any(max(t.shape) > min(tiles) for n, t in puzzle.make(case).items() if n in puzzle.outputs)


def zeros(puzzle, prepared):
    return {name: torch.zeros_like(ref) for name, ref in prepared.expected.items()}


def uniform(puzzle, prepared):
    finite = {name: torch.where(ref.isfinite(), ref, 0.0) for name, ref in prepared.expected.items()}
    return {name: ref.mean(dim=-1, keepdim=True).expand(ref.shape).clone() for name, ref in finite.items()}


def copy_of_input(puzzle, prepared):
    inputs = [t.double() for n, t in prepared.tensors.items() if n not in puzzle.outputs]
    number = inputs[0].reshape(-1)[0]
    return {
        name: next((t for t in inputs if t.shape == ref.shape), number.expand(ref.shape))
        for name, ref in prepared.expected.items()
    }


def first_tile_only(puzzle, prepared):
    kept = {}
    tiles = [v for k, v in prepared.case.meta.items() if k.startswith("BLOCK_")]
    for name, ref in prepared.expected.items():
        rest = torch.arange(ref.numel()).reshape(ref.shape)
        last = rest % max(ref.shape[-1], 1) if ref.ndim > 1 else rest
        row = rest // max(ref.shape[-1], 1) if ref.ndim > 1 else torch.zeros_like(rest)
        kept[name] = torch.where((last < min(tiles)) & (row < min(tiles)), ref, 0.0)
    return kept


def answered_in_half(puzzle, prepared):
    inputs = {n: t.half().double() if t.is_floating_point() else t for n, t in prepared.tensors.items()}
    return {n: t.half().double() for n, t in puzzle.reference(prepared.case, inputs).items()}


@pytest.mark.parametrize("answer", [zeros, uniform, copy_of_input], ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    ("puzzle", "dtype"), [pytest.param(p, d, id=f"{p.name}-{d}") for p in LADDER for d in DTYPES if cpu_cases(p, d)]
)
def test_a_trivial_answer_fails_in_every_dtype(puzzle, dtype, answer):
    assert any(_wrong(puzzle, case, answer) for case in cpu_cases(puzzle, dtype))


@pytest.mark.parametrize("puzzle", LADDER, ids=lambda p: p.name)
def test_zeros_fail_in_every_case(puzzle):
    for case in cpu_cases(puzzle):
        expected = prepare(puzzle, case).expected.values()
        if not any(bool(output.any()) for output in expected):
            assert case.sizes["N"] == 1, case.name  # the gradient of a softmax of one number is 0
        else:
            assert _wrong(puzzle, case, zeros), case.name


@pytest.mark.parametrize("puzzle", LADDER, ids=lambda p: p.name)
def test_half_the_bits_fail(puzzle):
    assert any(_wrong(puzzle, case, answered_in_half) for case in cpu_cases(puzzle, "float32"))


@pytest.mark.parametrize(
    "puzzle", [p for p in LADDER if any(_several_tiles(p, c) for c in cpu_cases(p))], ids=lambda p: p.name
)
def test_the_first_tile_alone_fails(puzzle):
    cases = [case for case in cpu_cases(puzzle) if _several_tiles(puzzle, case)]
    assert any(_wrong(puzzle, case, first_tile_only) for case in cases)


@pytest.mark.parametrize(
    "puzzle",
    [p for p in LADDER if {"x_ptr", "y_ptr"} == {n for n in p.parameters if n.endswith("_ptr")}],
    ids=lambda p: p.name,
)
def test_no_max_subtraction_fails(puzzle):
    def plain(puzzle, prepared):
        e = torch.exp(prepared.launch.arguments["x_ptr"].float())
        return {"y_ptr": e / e.sum(dim=-1, keepdim=True)}

    assert any(_wrong(puzzle, case, plain) for case in cpu_cases(puzzle, "float32"))


@pytest.mark.parametrize("puzzle", LADDER, ids=lambda p: p.name)
def test_the_solution_passes_with_twice_the_margin(puzzle, runner):
    source = solution(puzzle.name)
    prepared = prepare_all(puzzle, plan(puzzle, cpu_cases(puzzle), ()))
    outcomes = list(simulate(puzzle, source, runner, prepared))
    assert len(outcomes) == len(prepared)
    for outcome in outcomes:
        assert outcome.comparison is not None, outcome.result.message
        assert outcome.comparison.worst <= MARGIN, outcome.case.name


def _wrong(puzzle, case, answer):
    prepared = prepare(puzzle, case)
    return compare(puzzle, prepared, answer(puzzle, prepared), None).mismatch is not None
