"""The cases of the attention puzzles contain what they are for, and drawn cases go beyond the fixed ones."""

from __future__ import annotations

from itertools import combinations, permutations, product
from random import Random

from checker.course import PUZZLES
from checker.course.attention import SHAPES, TILES
from checker.course.attention_heads import MIXED, key_lengths
from checker.course.attention_values import WIDTHS, large, scale_of, score_pairs, score_pairs_in_sight, score_triples
from checker.judge.launches import prepare, without_numbers
from checker.puzzle import DTYPES, Case

FORWARD = ("flash_attention", "flash_attention_v1", "flash_attention_heads")
GRADIENTS = {"attention_dkdv": "N_Q", "attention_dq": "N_KV"}
"""The kernels of the gradients, and the size that their inner loop runs over."""
GIVEN_SCORES = (score_pairs, score_pairs_in_sight, score_triples, large)


def cpu(name: str) -> list[Case]:
    return [case for case in PUZZLES[name].cases if "cpu" in case.devices]


def remainder(size: int, block: int) -> str:
    return {0: "none", 1: "one", block - 1: "all but one"}.get(size % block, "other")


def factors(case: Case) -> dict[str, object]:
    n_q, n_kv, (block_m, block_n) = case.sizes["N_Q"], case.sizes["N_KV"], case.meta.values()
    own = {"dtype": case.dtype, "layout": case.layout, "d": case.sizes["D"], "tile": (block_m, block_n)}
    own |= {"scale": bool(case.flags.get("SCALE")), "more": (n_q > n_kv) - (n_q < n_kv)}
    own |= {"queries": remainder(n_q, block_m), "keys": remainder(n_kv, block_n)}
    if "IS_CAUSAL" in case.flags:
        own |= {"causal": case.flags["IS_CAUSAL"], "ragged": case.flags["RAGGED"]}
        own |= {"group": case.sizes["H_Q"] // case.sizes["H_KV"]}
    return own


def test_every_possible_pair_of_factors_meets_in_some_case():
    for name in (*FORWARD, *GRADIENTS):
        groups = {1, 2, 3, 8} if name in GRADIENTS else {1, 2, 5, 8}
        cases = [factors(case) for case in cpu(name)]
        # without single cases with tiles, groups or layouts of their own
        cases = [case for case in cases if case["tile"] in TILES and case.get("group", 1) in groups]
        cases = [case for case in cases if case["layout"] not in ("roomy", *MIXED)]
        values = {factor: {case[factor] for case in cases} for factor in cases[0]}
        assert (values["d"], values["tile"], values["dtype"]) == (set(WIDTHS), set(TILES), set(DTYPES)), name
        assert values["more"] == {-1, 0, 1}, name
        for one, other in combinations(values, 2):
            if {one, other} == {"group", "more"}:  # eight heads only have more keys than queries
                continue
            met = {(case[one], case[other]) for case in cases}
            for x, y in product(values[one], values[other]):
                assert (x, y) in met or "other" in (x, y), f"{name}: {one} {x} with {other} {y}"


def test_each_tensor_is_strided_where_each_other_is_contiguous():
    for name in ("flash_attention_heads", "attention_delta", *GRADIENTS):
        made = [PUZZLES[name].make(case) for case in cpu(name) if case.layout in MIXED]
        strides = [{tensor: x.stride(-1) for tensor, x in tensors.items() if x.dim() == 4} for tensors in made]
        for one, other in permutations(strides[0], 2):
            assert any(by_tensor[one] != 1 == by_tensor[other] for by_tensor in strides), (name, one, other)


def test_every_two_of_dtype_width_and_tile_have_one_shape():
    assert len(SHAPES) == 12
    for one, other in combinations(range(3), 2):
        pairs = len({s[one] for s in SHAPES}) * len({s[other] for s in SHAPES})
        assert len({(shape[one], shape[other]) for shape in SHAPES}) == pairs


def test_some_cases_are_too_long_to_unroll_and_have_many_programs():
    for name in FORWARD:
        cases = cpu(name)
        for dtype in ("float16", "bfloat16"):
            assert any(c.family.name == "spike" and c.dtype == dtype and c.sizes["N_KV"] > 600 for c in cases), name
        assert any(c.sizes["N_KV"] > 40 * c.meta["BLOCK_N"] for c in cases), name
        grids = [prepare(PUZZLES[name], c).launch.grid for c in cases if c.sizes["D"] == 16]
        assert all(max(grid[axis] for grid in grids) > 12 for axis in range(len(grids[0]))), name


def test_neighbouring_queries_have_different_given_scores_in_every_head():
    for name in FORWARD:
        several = [c for c in cpu(name) if c.sizes.get("H", c.sizes.get("H_Q", 2)) > 1 and not c.flags.get("RAGGED")]
        tensors = PUZZLES[name].make(case := next(c for c in several if c.family in GIVEN_SCORES))
        q, k = tensors["q_ptr"].double(), tensors["k_ptr"].double()
        assert ((q != 0).sum(dim=-1) == 1).all(), "a query is a multiple of a unit vector"
        if q.dim() == 4:
            k = k.repeat_interleave(q.shape[1] // k.shape[1], dim=1)
        scores = (q @ k.transpose(-1, -2)) * scale_of(case)
        assert (scores[..., 1:, :] != scores[..., :-1, :]).any(dim=-1).all(), name


def test_a_wrong_weight_shows_in_every_column():
    for name in FORWARD:
        for case in (c for c in cpu(name) if c.family in GIVEN_SCORES and c.sizes["N_KV"] > 16):
            v = PUZZLES[name].make(case)["v_ptr"].double()
            assert (v.abs() > 0).all()
            assert (v[..., 1::2].amin(dim=-2) < 0).float().mean() > 0.9
            assert (v.abs().amax() < 4.1 * v.abs().amin()) or case.flags.get("RAGGED")


def test_the_last_drawn_case_is_longer_than_every_fixed_one():
    for name, along in {**dict.fromkeys(FORWARD, "N_KV"), **GRADIENTS}.items():
        longest = max(case.sizes[along] for case in cpu(name))
        for seed in range(5):
            assert PUZZLES[name].drawn(Random(seed))[-1].sizes[along] > longest, name


def test_a_launch_without_numbers_has_the_same_strides():
    for name in FORWARD:
        for case in PUZZLES[name].cases:
            launch = without_numbers(PUZZLES[name], case)
            assert launch.grid
            if "cpu" in case.devices and case.sizes["D"] == 32:
                made = PUZZLES[name].make(case)
                for tensor in PUZZLES[name].outputs:
                    assert launch.arguments[tensor].stride() == made[tensor].stride()


def test_batches_end_inside_a_tile_at_its_end_after_one_key_and_before_the_first():
    for name in ("flash_attention_heads", "attention_dkdv"):
        ends = set()
        for case in cpu(name):
            n, block = case.sizes["N_KV"], case.meta["BLOCK_N"]
            for end in key_lengths(case).tolist():
                assert 0 <= end <= n
                ends.add(end if end < 2 else "all" if end == n else "full" if end % block == 0 else "inside")
        assert ends == {0, 1, "all", "full", "inside"}, name
