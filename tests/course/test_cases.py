"""The cases of a puzzle hold what they are for: every pair of factors, long loops, many programs. A wrong kernel passes otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, product
from typing import Any

from checker.authoring.covering import covering, scattered
from checker.course import PUZZLES
from checker.course.attention import FACTORS as ATTENTION_FACTORS
from checker.course.attention import SCALES, TILES
from checker.course.attention_heads import HEADS_FACTORS
from checker.course.attention_values import WIDTHS
from checker.course.families import BUILT
from checker.course.softmax_rows import CHUNKED, LAYOUTS, MANY_ROWS
from checker.judge.launches import prepare, without_numbers
from checker.puzzle import DTYPES, Case
from tests.judge.helpers import cpu_cases

LONG_ROWS = ("chunked_softmax", "online_softmax", "tiled_softmax")
FORWARD = ("flash_attention", "flash_attention_v1", "flash_attention_heads")
GRADIENTS = ("attention_dkdv", "attention_dq")
ATTENTION_LAYOUTS = {
    "flash_attention": ATTENTION_FACTORS["layout"],
    "flash_attention_v1": ("padded", "interleaved", "repeated heads"),
}
FACTORS = {"dtype": ("a", "b", "c"), "layout": ("x", "y"), "tile": (16, 32, 64), "rows": (1, 2, 9), "rest": (0, 1, -1)}


def remainder(size: int, block: int) -> str:
    return {0: "none", block - 1: "all but one", 1: "one"}.get(size % block, "other")


def assert_every_pair_meets(
    name: str, rows: Sequence[dict[str, Any]], excused: Callable[[set[Any], set[str]], bool]
) -> None:
    for one, other in combinations(rows[0], 2):
        met = {(row[one], row[other]) for row in rows}
        for pair in product(*({row[factor] for row in rows} for factor in (one, other))):
            assert pair in met or excused(set(pair), {one, other}), f"{name}: {one} and {other}, {pair}"


def row_factors(case: Case) -> dict[str, Any]:
    n, block = case.sizes["N"], case.meta["BLOCK_N"]
    rest = "short" if n < block else remainder(n, block)
    return {
        "dtype": case.dtype,
        "layout": case.layout,
        "family": case.family.name,
        "tile": block,
        "remainder": rest,
        "rows": case.sizes["M"],
    }


def test_every_pair_of_a_long_rows_factors_meets_in_some_case() -> None:
    built = {family.name for family in BUILT}

    def excused(pair: set[Any], factors: set[str]) -> bool:
        return (
            pair == {"spike", "float32"}  # its sum is right there
            or (factors == {"tile", "remainder"} and 2 in pair)  # a tile of two has one remainder
            or pair == {1024, MANY_ROWS}
            or (("repeated" in pair or factors == {"family", "rows"}) and not pair.isdisjoint(built))
        )

    for name in LONG_ROWS:
        cases = cpu_cases(PUZZLES[name])
        rows = [row_factors(c) for c in cases if c.sizes["M"] in (1, 3, 8, 9, 11, MANY_ROWS) and c.family in CHUNKED]
        assert {row["remainder"] for row in rows} == {"none", "one", "all but one", "short", "other"}
        assert {row["dtype"] for row in rows} == set(DTYPES)
        assert {row["layout"] for row in rows} == set(LAYOUTS)
        assert_every_pair_meets(name, rows, excused)


def attention_factors(case: Case) -> dict[str, Any]:
    n_q, n_kv, (block_m, block_n) = case.sizes["N_Q"], case.sizes["N_KV"], case.meta.values()
    own = {"dtype": case.dtype, "layout": case.layout, "d": case.sizes["D"], "tile": (block_m, block_n)}
    tiny = "".join(name for name in ("TINY_Q", "TINY_K") if case.flags.get(name))
    own |= {"scale": (case.flags.get("SCALE", 0.0), tiny), "more": (n_q > n_kv) - (n_q < n_kv)}
    own |= {"queries": remainder(n_q, block_m), "keys": remainder(n_kv, block_n)}
    if "IS_CAUSAL" in case.flags:
        own |= {"causal": case.flags["IS_CAUSAL"], "ragged": case.flags["RAGGED"]}
        own |= {"group": case.sizes["H_Q"] // case.sizes["H_KV"]}
    return own


def test_every_pair_of_attentions_factors_meets_in_some_case() -> None:
    for name in (*FORWARD, *GRADIENTS):
        groups = {1, 2, 3, 8} if name in GRADIENTS else {1, 2, 5, 8}
        rows = [attention_factors(case) for case in cpu_cases(PUZZLES[name])]
        # without single cases with tiles, scales, groups, lengths or layouts of their own
        rows = [
            row for row in rows if row["tile"] in TILES and row["scale"] in SCALES and row.get("group", 1) in groups
        ]
        rows = [
            row
            for row in rows
            if row["layout"] in ATTENTION_LAYOUTS.get(name, HEADS_FACTORS["layout"]) and row.get("ragged", 0) < 3
        ]
        assert {row["d"] for row in rows} == set(WIDTHS)
        assert {row["dtype"] for row in rows} == set(DTYPES)
        # eight heads only have more keys than queries
        assert_every_pair_meets(name, rows, lambda pair, factors: factors == {"group", "more"} or "other" in pair)


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
        launch, made = without_numbers(puzzle, case), puzzle.make(case)
        assert all(launch.arguments[name].stride() == made[name].stride() for name in puzzle.outputs)


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
