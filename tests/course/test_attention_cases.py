"""The cases of the attention puzzles hold what they are constructed for, and those of a graded run are like them."""

from __future__ import annotations

from itertools import combinations, permutations, product
from random import Random

import pytest

from checker.course import PUZZLES
from checker.course.attention_cases import SHAPES, TILES, WIDTHS
from checker.course.attention_heads import MIXED
from checker.course.attention_inputs import CHOSEN, scale_of
from checker.judge.launches import prepare, without_numbers
from checker.puzzle import DTYPES, Case

RUNGS = ("flash_attention", "flash_attention_v1", "flash_attention_heads")


def cpu(name: str) -> list[Case]:
    return [case for case in PUZZLES[name].cases if "cpu" in case.devices]


def remainder(size: int, block: int) -> str:
    return {0: "none", 1: "one", block - 1: "all but one"}.get(size % block, "other")


GROUPS = {1, 2, 5, 8}


def factors(case: Case) -> dict[str, object]:
    n_q, n_kv, (block_m, block_n) = case.sizes["N_Q"], case.sizes["N_KV"], case.meta.values()
    own = {"dtype": case.dtype, "layout": case.layout, "d": case.sizes["D"], "tile": (block_m, block_n)}
    own |= {"scale": bool(case.flags.get("SCALE")), "more": (n_q > n_kv) - (n_q < n_kv)}
    own |= {"queries": remainder(n_q, block_m), "keys": remainder(n_kv, block_n)}
    if "IS_CAUSAL" in case.flags:
        own |= {"causal": case.flags["IS_CAUSAL"], "ragged": case.flags["RAGGED"]}
        own |= {"group": case.sizes["H_Q"] // case.sizes["H_KV"]}
    return own


@pytest.mark.parametrize("name", RUNGS)
def test_every_pair_of_factors_that_there_can_be_meets_in_some_case(name):
    known = map(factors, cpu(name))
    # without the single cases that bring tiles or groups of their own
    cases = [case for case in known if case["tile"] in TILES and case.get("group", 1) in GROUPS]
    cases = [case for case in cases if case["layout"] not in ("roomy", *MIXED)]
    values = {factor: {case[factor] for case in cases} for factor in cases[0]}
    assert values["d"] == set(WIDTHS)
    assert values["tile"] == set(TILES)
    assert values["dtype"] == set(DTYPES)
    assert values["more"] == {-1, 0, 1}
    for one, other in combinations(values, 2):
        if {one, other} == {"group", "more"}:  # eight heads come with more keys than queries only
            continue
        met = {(case[one], case[other]) for case in cases}
        for x, y in product(values[one], values[other]):
            assert (x, y) in met, f"{one} {x} with {other} {y}"


@pytest.mark.parametrize("name", ["flash_attention_heads", "attention_delta", "attention_dkdv", "attention_dq"])
def test_each_tensor_is_strided_where_each_other_is_contiguous(name):
    def last_strides(case):
        made = PUZZLES[name].make(case)
        return {tensor: x.stride(-1) for tensor, x in made.items() if x.dim() == 4}

    mixed = [last_strides(case) for case in cpu(name) if case.layout in MIXED]
    for one, other in permutations(mixed[0], 2):
        assert any(strides[one] != 1 == strides[other] for strides in mixed), f"{one} strided, {other} not"


def test_each_two_of_dtype_width_and_tile_are_one_shape():
    assert len(SHAPES) == 12
    for one, other in combinations(range(3), 2):
        assert len({(shape[one], shape[other]) for shape in SHAPES}) == len({s[one] for s in SHAPES}) * len(
            {s[other] for s in SHAPES}
        )


@pytest.mark.parametrize("name", RUNGS)
def test_some_case_is_longer_than_any_loop_that_is_written_out_and_has_many_programs(name):
    cases = cpu(name)
    for dtype in ("float16", "bfloat16"):
        assert any(c.family.name == "spike" and c.dtype == dtype and c.sizes["N_KV"] > 600 for c in cases)
    assert any(c.sizes["N_KV"] > 40 * c.meta["BLOCK_N"] for c in cases)
    grids = [prepare(PUZZLES[name], c).launch.grid for c in cases if c.sizes["D"] == 16]
    assert all(max(grid[axis] for grid in grids) > 12 for axis in range(len(grids[0])))


@pytest.mark.parametrize("name", RUNGS)
def test_scores_are_those_that_were_chosen_for_every_head(name):
    heads = 1 if name == "flash_attention" else 2
    case = next(
        c
        for c in cpu(name)
        if c.family.name in CHOSEN and c.sizes.get("H", c.sizes.get("H_Q", 1)) >= heads and not c.flags.get("RAGGED")
    )
    tensors = PUZZLES[name].make(case)
    q, k = tensors["q_ptr"].double(), tensors["k_ptr"].double()
    assert ((q != 0).sum(dim=-1) == 1).all(), "a query is a multiple of a unit vector"
    if q.dim() == 4:
        k = k.repeat_interleave(q.shape[1] // k.shape[1], dim=1)
    scores = (q @ k.transpose(-1, -2)) * scale_of(case)
    assert (scores[..., 1:, :] != scores[..., :-1, :]).any(dim=-1).all(), "neighbours are in the same phase"


@pytest.mark.parametrize("name", RUNGS)
def test_a_wrong_weight_shows_in_every_column(name):
    for case in (c for c in cpu(name) if c.family.name in CHOSEN and c.sizes["N_KV"] > 16):
        v = PUZZLES[name].make(case)["v_ptr"].double()
        assert (v.abs() > 0).all()
        assert (v[..., 1::2].amin(dim=-2) < 0).float().mean() > 0.9
        assert (v.abs().amax() < 4.1 * v.abs().amin()) or case.flags.get("RAGGED")


@pytest.mark.parametrize("name", RUNGS)
def test_the_last_drawn_case_has_more_keys_than_all_that_are_known(name):
    for seed in range(20):
        *_, last = PUZZLES[name].drawn(Random(seed))
        assert all(last.sizes["N_KV"] > case.sizes["N_KV"] for case in cpu(name))


@pytest.mark.parametrize("name", RUNGS)
def test_a_launch_can_be_made_without_numbers(name):
    for case in PUZZLES[name].cases:
        launch = without_numbers(PUZZLES[name], case)
        assert launch.grid
        if "cpu" in case.devices and case.sizes["D"] == 32:
            made = PUZZLES[name].make(case)
            for tensor in PUZZLES[name].outputs:
                assert launch.arguments[tensor].stride() == made[tensor].stride()


def test_lengths_end_inside_a_tile_at_its_end_after_one_key_and_before_the_first():
    puzzle, seen = PUZZLES["flash_attention_heads"], set()
    for case in cpu("flash_attention_heads"):
        n, block = case.sizes["N_KV"], case.meta["BLOCK_N"]
        for length in puzzle.make(case)["key_lengths_ptr"].tolist():
            assert 0 <= length <= n
            seen.add(length if length < 2 else "all" if length == n else "full" if length % block == 0 else "inside")
    assert seen == {0, 1, "all", "full", "inside"}
