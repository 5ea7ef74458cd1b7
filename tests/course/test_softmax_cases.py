"""The cases of the softmax puzzles hold what they are constructed for, and those of a graded run are like them."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from random import Random

import pytest
import torch

from checker.authoring.space import prime_below
from checker.course import PUZZLES
from checker.course.families import BUILT, chunk_pairs, rows, spike
from checker.course.softmax_rows import CHUNKED, columns_in_chunks
from checker.puzzle import DTYPES, NORMAL, Case

LONG_ROWS = ("chunked_softmax", "online_softmax", "tiled_softmax")
RUNGS = ("vector_add", "row_softmax", *LONG_ROWS, "merge_softmax_stats")


def cpu(name: str) -> list[Case]:
    return [case for case in PUZZLES[name].cases if "cpu" in case.devices]


def remainder(case: Case) -> str:
    n, block = case.sizes["N"], case.meta["BLOCK_N"]
    said = {0: "none", 1: "one", block - 1: "all but one"}
    return "short" if n < block else said.get(n % block, "other")


def factors(case: Case) -> dict[str, object]:
    memory = (case.dtype, case.layout)
    return {"memory": memory, "family": case.family.name, "tile": case.meta["BLOCK_N"], "remainder": remainder(case)}


@pytest.mark.parametrize("name", LONG_ROWS)
def test_every_pair_of_a_long_rows_factors_meets_in_some_case(name):
    covered = [
        factors(case) for case in cpu(name) if case.sizes["M"] < 20 and case.sizes["N"] > 1 and case.family in CHUNKED
    ]
    values = {factor: {one[factor] for one in covered} for factor in covered[0]}
    assert len(values["memory"]) == 2 * len(DTYPES)
    assert values["remainder"] == {"none", "one", "all but one", "short", "other"}
    assert max(values["tile"]) >= 1024
    for one, other in combinations(values, 2):
        met = {(case[one], case[other]) for case in covered}
        for x, y in product(values[one], values[other]):
            in_float32 = isinstance(x, tuple) and x[0] == "float32" and y == "spike"  # a sum in float32 is right there
            assert (x, y) in met or in_float32, f"{one} {x} with {other} {y}"
    assert {case.sizes["M"] == 1 for case in cpu(name)} == {True, False}
    assert max(case.sizes["M"] // case.meta.get("BLOCK_M", 1) for case in cpu(name)) > 4


@pytest.mark.parametrize("name", LONG_ROWS)
def test_some_case_is_longer_than_any_loop_that_is_written_out(name):
    cases = cpu(name)
    assert any(case.sizes["N"] > 33 * case.meta["BLOCK_N"] for case in cases)
    for dtype in ("float16", "bfloat16"):
        assert any(case.family == spike and case.dtype == dtype and case.sizes["N"] > 1000 for case in cases)


@pytest.mark.parametrize("name", ["row_softmax", *LONG_ROWS])
def test_no_stride_stands_for_another_or_for_the_length_unless_contiguous(name):
    padded = [case for case in cpu(name) if case.layout != "contiguous"]
    assert {case.dtype for case in padded} == set(DTYPES)
    for case in padded:
        tensors = PUZZLES[name].make(case)
        assert len({tensors["x_ptr"].stride(0), tensors["y_ptr"].stride(0), case.sizes["N"]}) == 3


@pytest.mark.parametrize("name", RUNGS)
def test_the_last_drawn_case_is_larger_than_all_that_are_known(name):
    for seed in range(20):
        last = PUZZLES[name].drawn(Random(seed))[-1]
        assert all(last.sizes[size] > case.sizes[size] for case in cpu(name) for size in last.sizes)


@pytest.mark.parametrize("name", RUNGS)
def test_cases_come_small_first_and_no_case_needs_much_memory(name):
    puzzle = PUZZLES[name]
    for seed in range(2):
        for case in (*cpu(name), *puzzle.drawn(Random(seed))):
            assert sum(t.numel() * 8 for t in puzzle.make(case).values()) < 2**26, case.name
    sizes = [sum(t.numel() for t in puzzle.make(case).values()) for case in cpu(name)[:3]]
    assert max(sizes) < 500


@pytest.mark.parametrize("block", [8, 16, 64, 1024])
@pytest.mark.parametrize("family", [chunk_pairs, spike, NORMAL], ids=lambda f: f.name)
def test_the_last_chunk_is_as_full_as_the_remainder_says(family, block):
    def columns(remainder):
        return columns_in_chunks({"family": family, "remainder": remainder}, block)

    assert columns("none") % block == 0
    assert columns("one") % block == 1
    assert columns("all but one") % block == block - 1
    assert columns("short") < block
    prime = columns("prime")
    assert all(prime % i for i in range(2, prime))
    assert prime % block not in (0, 1, block - 1)
    assert prime_below(3) == 2


def test_a_name_says_everything_that_sets_a_case_apart():
    case = Case({"M": 3, "N": 37}, {"BLOCK_N": 16}, "float16", chunk_pairs, "padded")
    assert case.name == "M = 3, N = 37, BLOCK_N = 16, float16, all pairs of chunk kinds, padded"
    assert (
        Case({"M": 3}, {}, flags={"IS_CAUSAL": True, "PAST": 3, "RAGGED": 0}).name
        == "M = 3, IS_CAUSAL, PAST = 3, float32"
    )


@pytest.mark.parametrize("family", BUILT, ids=lambda f: f.name)
def test_a_variant_leaves_out_one_kind_and_keeps_the_rest(family):
    case = Case({"M": 9, "N": 157}, {"BLOCK_N": 16}, family=family)
    whole = rows(case, 9, 157)
    for other in family.without.values():
        left = rows(replace(case, family=other), 9, 157)
        assert not torch.equal(left, whole)
        if other.name.endswith("EMPTY"):
            assert left.isfinite().all()
