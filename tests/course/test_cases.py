"""The cases of a puzzle hold what they are for: every pair of factors, long loops, many programs. A wrong kernel passes otherwise."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, product
from random import Random
from typing import Any

import pytest
import torch

from checker.authoring import Row, Space
from checker.authoring.covering import covering, scattered
from checker.course import LADDER, PUZZLES
from checker.course.tensors import once_a_case
from checker.judge.launches import prepare, with_zeros, without_numbers
from checker.puzzle import Case, Puzzle
from tests.judge.helpers import cpu_cases

LONG_ROWS = ("chunked_softmax", "online_softmax", "tiled_softmax")
FORWARD = ("flash_attention", "flash_attention_v1", "flash_attention_heads")
GRADIENTS = ("attention_dkdv", "attention_dq")
FACTORS = {"dtype": ("a", "b", "c"), "layout": ("x", "y"), "tile": (16, 32, 64), "rows": (1, 2, 9), "rest": (0, 1, -1)}


def test_some_cases_are_too_long_to_unroll_and_have_many_programs() -> None:
    for name, along in (*((n, "N") for n in LONG_ROWS), *((n, "N_KV") for n in FORWARD)):
        cases = cpu_cases(PUZZLES[name])
        assert any(case.sizes[along] > 33 * case.meta["BLOCK_N"] for case in cases), name
        spikes = {c.dtype for c in cases if c.family.name == "spike" and c.sizes[along] > 30 * c.meta["BLOCK_N"]}
        assert {"float16", "bfloat16"} <= spikes, name
        grids = [prepare(PUZZLES[name], case).launch.grid for case in cases if case.sizes.get("D", 16) == 16]
        assert all(max(axis) > (12 if name in FORWARD else 4) for axis in zip(*grids, strict=True)), name


def test_every_input_that_may_be_expanded_is_expanded_in_some_case_and_no_output_is() -> None:
    for name in (*FORWARD, *GRADIENTS, "flash_attention_fast", "attention_delta"):
        puzzle, expanded = PUZZLES[name], set()
        for layout, case in {case.layout: case for case in cpu_cases(puzzle)}.items():
            found = {
                key
                for key, t in puzzle.make(case).items()
                if 0 in (s for s, n in zip(t.stride(), t.shape, strict=True) if n > 1)
            }
            assert found.isdisjoint(puzzle.outputs), (name, layout)
            expanded |= found
        assert expanded == {f"{key}_ptr" for key in puzzle.domain.expanded}, name


def test_a_launch_without_numbers_has_the_same_strides() -> None:
    """So a GPU can be asked for a large launch whose numbers are made there."""
    puzzle = PUZZLES["flash_attention_heads"]
    for case in (case for case in cpu_cases(puzzle, "float16") if case.sizes["D"] == 32):
        made = puzzle.make(case)
        for launch in (without_numbers(puzzle, case), with_zeros(puzzle, case)):
            for name, tensor in made.items():
                like = launch.arguments[name]
                assert (like.shape, like.stride(), like.dtype) == (tensor.shape, tensor.stride(), tensor.dtype), name
                assert like.device.type == "meta"


def test_a_covering_array_holds_every_allowed_pair_in_few_rows() -> None:
    def allowed(row: dict[str, Any]) -> bool:
        return row["tile"] != 64 or (row["dtype"] == "a" and row["rest"] != 1)

    for factors, permitted in (
        (FACTORS, lambda row: True),
        (FACTORS, allowed),
        ({str(i): range(4) for i in range(9)}, lambda row: True),
    ):
        rows = covering(factors, permitted)
        assert rows == covering(factors, permitted), "the same rows every time"
        assert all(map(permitted, rows))
        held = {pair for row in rows for pair in combinations(row.items(), 2)}
        some = (
            rows if factors is not FACTORS else [dict(zip(FACTORS, v, strict=True)) for v in product(*FACTORS.values())]
        )
        assert held >= {pair for row in some if permitted(row) for pair in combinations(row.items(), 2)}
        pairs = [len(factors[a]) * len(factors[b]) for a, b in combinations(factors, 2)]
        assert len(rows) <= 2 * max(pairs)
        if permitted is not allowed:
            assert len(held) == sum(pairs)


def test_a_further_value_is_in_one_row_that_is_allowed() -> None:
    rows = covering(FACTORS)
    further = {"tile": (128, 256), "rows": tuple(range(20, 25)), "dtype": ("never",)}

    def allowed(row: dict[str, Any]) -> bool:
        return row["dtype"] != "never" and (row["tile"] < 256 or row["layout"] == "y")

    added = scattered(FACTORS, further, rows, allowed)
    assert added == scattered(FACTORS, further, rows, allowed), "the same rows every time"
    assert all(map(allowed, added))
    assert [row["rows"] for row in added] == list(range(20, 25)), "several values share a row"
    assert [row["tile"] for row in added].count(256) == 1


@pytest.mark.parametrize("puzzle", LADDER, ids=lambda puzzle: puzzle.name)
def test_some_case_has_more_programs_than_anybody_writes_out(puzzle: Puzzle) -> None:
    """A kernel that is wrong from the fifth program on passed `score_tile`."""
    assert max(math.prod(with_zeros(puzzle, case).grid) for case in cpu_cases(puzzle)) > 16


def test_graded_runs_also_draw_what_fixed_cases_hold_once() -> None:
    """A kernel may be right in the one fixed case of a family, and wrong for the same family in another type or tile."""
    spaces = {puzzle.name: getattr(puzzle.drawn, "__self__", None) for puzzle in LADDER}
    for name, space in ((name, space) for name, space in spaces.items() if isinstance(space, Space)):
        missing = {(factor, value) for factor, values in space.once.items() for value in values}

        def noted(row: Row, space: Space = space, missing: set[tuple[str, Any]] = missing) -> Case:
            missing.difference_update(row.items())
            return space.case(row)

        recorded = replace(space, case=noted)
        for seed in range(60):
            if missing:
                recorded.draw(Random(seed))
        assert not missing, name


def test_what_is_cached_on_a_gpu_is_computed_anew_for_the_cpu() -> None:
    """Or the next kernel's verdict would mix tensors of both."""
    ones = once_a_case(lambda case: torch.ones(3))
    case = PUZZLES["vector_add"].cases[0]
    with torch.device("meta"):  # stands for a GPU
        assert ones(case).is_meta
    assert not ones(case).is_meta
