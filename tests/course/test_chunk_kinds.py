"""Rows of chunk kinds hold what they say: every pair and triple of kinds, told from the numbers alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from checker.course.chunk_kinds import PAIRS, Kind, Plan, extremes, kinds_in_order, rows_of_kinds
from checker.puzzle import DTYPES

WIDTH = 16


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("kinds", "order", "chunks"), [(9, 2, 10), (7, 2, 8), (6, 3, 38), (4, 3, 18), (3, 2, 4)])
def test_a_group_of_rows_holds_every_sequence_of_kinds_and_neighbours_always_differ(kinds, order, chunks, seed):
    numbers = kinds_in_order(kinds, chunks, kinds, order, seed)
    words = {tuple(row[i : i + order].tolist()) for row in numbers for i in range(chunks - order + 1)}
    assert len(words) == kinds**order
    assert all((one != other).all() for one, other in pairwise(numbers))
    assert sorted(numbers[:, 0].tolist()) == list(range(kinds))


@pytest.mark.parametrize(
    ("dtype", "reach"), [("float32", 1e30), ("float32", 3000.0), ("float16", 6e4), ("bfloat16", 1e5)]
)
def test_extreme_rows_reach_both_ends_and_one_element_takes_all(dtype, reach):
    x = rows_of_kinds(6, 5 * WIDTH, WIDTH, extremes(reach), DTYPES[dtype], seed=0)
    assert x.max() > 0.99 * reach
    assert x[x.isfinite()].min() < -0.99 * reach
    assert (x.amax(dim=-1) < -0.4 * reach).any(), "no row lies wholly far below zero"
    y = torch.softmax(x, dim=-1).float()
    assert ((y == 0) | (y == 1)).all()


@pytest.mark.parametrize("n", [1, 5, WIDTH, WIDTH + 1, 40])
def test_no_row_is_empty_unless_it_may_be(n):
    x = rows_of_kinds(9, n, WIDTH, PAIRS, torch.float32, seed=0)
    assert x.isfinite().any(dim=-1).all()
    only = replace(PAIRS, kinds=(Kind.EMPTY,))
    assert (rows_of_kinds(9, n, WIDTH, only, torch.float32, seed=0, empty_rows=True) == -torch.inf).all()


def test_signed_zeros_are_there_and_a_dtype_that_is_too_small_is_refused():
    zeros = rows_of_kinds(1, WIDTH, WIDTH, Plan((Kind.ZEROS,)), torch.float16, seed=0)
    assert torch.signbit(zeros).any()
    assert not torch.signbit(zeros).all()
    with pytest.raises(ValueError, match="cannot hold"):
        rows_of_kinds(2, 1000 * WIDTH, WIDTH, Plan((Kind.FAR_ABOVE,)), torch.float16, seed=0)
