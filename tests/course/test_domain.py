"""A learner may rely on "What your kernel may assume": no case, fixed or drawn, leaves it, and a case that does is noticed."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

import pytest
import torch

from checker.authoring.assumptions import violations
from checker.course import LADDER, PUZZLES
from checker.course.attention_values import Tokens, at_the_ends, scale_of
from checker.puzzle import Case, Puzzle

MOST_NUMBERS = 300_000
"""In the tensors of the cases that are made here; the sizes of larger ones are checked without them."""


def outside(puzzle: Puzzle, case: Case) -> list[str]:
    small = math.prod(case.sizes.values()) <= MOST_NUMBERS
    made = puzzle.make(case) if small else {}
    inputs = {name: x for name, x in made.items() if name not in puzzle.outputs}
    return [f"{case.name}: {words}" for words in violations(puzzle.domain, case, inputs)]


@pytest.mark.parametrize("puzzle", LADDER, ids=lambda puzzle: puzzle.name)
def test_no_case_leaves_the_domain(puzzle: Puzzle) -> None:
    drawn = [case for seed in range(2) for case in puzzle.drawn(Random(seed))]
    assert [words for case in [*puzzle.cases, *drawn, puzzle.film.case] for words in outside(puzzle, case)] == []


@pytest.mark.parametrize(
    "name", ["flash_attention", "flash_attention_v1", "flash_attention_heads", "decode_attention_split"]
)
def test_scores_past_a_million_have_a_scale_that_rounds_nothing(name: str) -> None:
    """A compiler may fuse `s * scale - m`; without the rounding in between, it could be far above 0."""
    puzzle = PUZZLES[name]
    for case in [*(c for c in puzzle.cases if "cpu" in c.devices), *puzzle.drawn(Random(0))]:
        if math.log2(scale_of(case)) % 1:
            made = puzzle.make(case)
            q, k = (made[f"{name}_ptr"].double().norm(dim=-1).amax() for name in "qk")
            assert q * k * scale_of(case) < 1e6, case.name


def test_huge_keys_beside_tiny_queries_stay_finite() -> None:
    case = Case({"N_Q": 1, "N_KV": 1, "D": 16}, {}, "float16", flags={"TINY_Q": True})
    q, k, v = (torch.full((1, 16), 1 - 2.0**-14, dtype=torch.float64) for _ in "qkv")
    assert at_the_ends(Tokens(q, k, v, torch.Generator()), case, room=0).k.to(torch.float16).isfinite().all()


def test_a_case_outside_is_noticed() -> None:
    puzzle = PUZZLES["flash_attention_heads"]
    inside = puzzle.cases[0]
    for change, words in (
        ({"sizes": {**inside.sizes, "D": 48}}, "D is 48"),
        ({"sizes": {**inside.sizes, "N_Q": 0}}, "N_Q is 0"),
        ({"sizes": {**inside.sizes, "H_Q": 3, "H_KV": 2}}, "H_Q is a multiple of H_KV"),
        ({"meta": {**inside.meta, "BLOCK_N": 8}}, "BLOCK_N is 8"),
    ):
        assert any(words in problem for problem in violations(puzzle.domain, replace(inside, **change), {}))
    for x, words in (
        (torch.tensor([1.0, torch.nan]), "NaN"),
        (torch.tensor([1.0, -torch.inf]), "holds -inf"),
    ):
        assert any(words in problem for problem in violations(puzzle.domain, inside, {"q_ptr": x}))
    expanded = torch.ones(1, 3).expand(4, 3)
    assert not list(violations(puzzle.domain, inside, {"q_ptr": expanded}))
    assert any("expanded" in problem for problem in violations(puzzle.domain, inside, {"key_lengths_ptr": expanded}))


def test_the_statement_says_it_in_few_lines() -> None:
    for puzzle in LADDER:
        assert 4 <= len(puzzle.assumptions) <= 6
        assert all(name in " ".join(puzzle.assumptions) for name in (*puzzle.domain.tiles, *puzzle.domain.sizes))
