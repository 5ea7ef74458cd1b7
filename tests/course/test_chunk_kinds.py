"""Rows of chunk kinds hold what they say: every pair and triple of kinds, told from the numbers alone."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from checker.course.chunk_kinds import IN_SIGHT, PAIRS, TRIPLES, Kind, Plan, extremes, kinds_in_order, rows_of_kinds
from checker.puzzle import DTYPES

WIDTH = 16
PLANS = {"pairs": PAIRS, "in sight": IN_SIGHT, "triples": TRIPLES}
FULL = {"pairs": (9, 10), "in sight": (7, 8), "triples": (6, 38)}
"""Rows, and chunks of a row, that hold all of it."""


def seen_kinds(row: torch.Tensor, kinds: tuple[Kind, ...]) -> list[Kind]:
    """What each chunk of a row is, found from the numbers; the first that is not empty is told by no maximum before it."""
    found, highest, total = [], -math.inf, 0.0
    for chunk in row.split(WIDTH):
        top, equal = float(chunk.max()), bool((chunk == chunk[0]).all())
        by = top - highest
        share = float(torch.exp(chunk - top).sum()) * math.exp(min(by, 0.0)) / total if total else math.inf
        if top == -math.inf:
            kind = Kind.EMPTY
        elif bool((chunk == 0).all()) and Kind.ZEROS in kinds:
            kind = Kind.ZEROS
        elif highest == -math.inf or by == 0:
            kind = Kind.TIE
        elif equal and len(chunk) > 1 and share < 0.2:
            kind = Kind.SMALL
        elif by > 88:
            kind = Kind.FAR_ABOVE
        elif by < -88:
            kind = Kind.FAR_BELOW
        elif by > 0 and float(chunk.sort().values[-2]) < top - 4.5:
            kind = Kind.SPIKE
        else:
            kind = Kind.ABOVE if by > 0 else Kind.BELOW
        new = max(highest, top)
        if new > -math.inf:
            total = total * math.exp(highest - new) + float(torch.exp(chunk - new).sum())
        highest = new
        found.append(kind)
    return found


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PLANS)
def test_chunks_are_of_the_kinds_that_were_planned_and_exact_in_their_dtype(name, dtype):
    plan, (m, chunks) = PLANS[name], FULL[name]
    x = rows_of_kinds(m, chunks * WIDTH - 5, WIDTH, plan, DTYPES[dtype], seed=3)
    assert torch.equal(x.to(DTYPES[dtype]).double(), x)
    assert not x.isnan().any()
    planned = kinds_in_order(m, chunks, len(plan.kinds), plan.order, seed=3)
    for row, numbers in zip(x, planned.tolist(), strict=True):
        seen, fresh = seen_kinds(row, plan.kinds), True
        for kind, number in zip(seen, numbers, strict=True):
            wanted = plan.kinds[number]
            if fresh and wanted not in (Kind.EMPTY, Kind.ZEROS):
                wanted = Kind.TIE  # nothing has come before it that it could lie above or below
            assert kind == wanted
            fresh = fresh and kind == Kind.EMPTY


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
