"""Each family of rows, queries and keys has the property that it exists for: without it, a mistake would pass."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
import torch

from checker.course import PUZZLES, attention_values, families, linear_values
from checker.course.attention_values import given_scores, queries_keys_values, ten_bits
from checker.course.chunk_kinds import IN_SIGHT, Kind, rows_of_kinds
from checker.course.families import BUILT, rows
from checker.course.linear_values import feature_map
from checker.course.tensors import stored
from checker.judge.launches import prepare
from checker.puzzle import DTYPES, NORMAL, Case, Family, Puzzle

M, N, BLOCK = 5, 41, 16


def case(family: Family = NORMAL, **more) -> Case:
    return Case({"M": M, "N": N}, {"BLOCK_N": BLOCK}, family=family, **more)


def drawn(family: Family, **more) -> torch.Tensor:
    return rows(case(family, **more), M, N)


def attention_scores(family: Family, n_kv: int, d: int, dtype: str = "float32") -> torch.Tensor:
    one_head = Case({"N_Q": 40, "N_KV": n_kv, "D": d}, {"BLOCK_M": 16, "BLOCK_N": 16}, dtype, family)
    q, k, _ = queries_keys_values(one_head, (40, d), (n_kv, d))
    return q.double() @ k.double().mT * d**-0.5


def test_rows_for_softmax_hold_what_breaks_it() -> None:
    for name in ("late_max", "early_max", "first_chunk_masked", "spike", "deep", "masked"):
        x = drawn(getattr(families, name))
        assert not x.isnan().any()
        assert x.isfinite().any(dim=-1).all(), name
    assert (torch.exp(drawn(families.deep).float()) == 0).all(), "they vanish without their maximum"
    late, early = drawn(families.late_max), drawn(families.early_max)
    assert torch.exp((late[::2, -1:] - late[::2, :-1]).float()).isinf().all()
    assert torch.exp((early[:, :1] - early[:, 1:]).float()).isinf().all()
    masked, empty = drawn(families.first_chunk_masked), drawn(families.empty)
    assert (masked[:, :BLOCK] == -torch.inf).all()
    assert masked[:, BLOCK:].isfinite().all()
    assert (empty[::2] == -torch.inf).all()
    assert empty[1::2].isfinite().all()
    for name in ("float16", "bfloat16"):
        chunk = torch.exp(drawn(families.spike, dtype=name)[0, 1 : 1 + BLOCK]).sum()
        assert chunk > 0
        assert torch.tensor(1.0, dtype=DTYPES[name]) + chunk.to(DTYPES[name]) == 1.0, "a sum in 16 bits loses the chunk"


def test_rows_at_the_ends_of_a_type_and_at_a_level_are_exact_in_it() -> None:
    for name, dtype in DTYPES.items():
        low, info = drawn(families.lowest, dtype=name), torch.finfo(dtype)
        assert (low[low.isfinite()] < 0.98 * info.min).all()
        assert low.isfinite().any(dim=-1).all(), "never a whole row"
        assert (low == -torch.inf).any()
        level = rows(case(families.levels, dtype=name), 8, N)
        assert torch.equal(level.to(dtype).double(), level), "the differences are exact"
        assert ((level.amax(dim=-1) - level.amin(dim=-1)) < 0.3 * level.abs().amax(dim=-1)).all()


def test_a_repeated_input_is_one_row_in_memory_and_an_output_is_not() -> None:
    x = drawn(NORMAL)
    once, output = (stored(x, case(layout="repeated"), output=output) for output in (False, True))
    assert (once.shape, once.stride()) == ((M, N), (0, 1))
    assert torch.equal(once, x[:1].float().repeat(M, 1))
    assert output.stride() == (N + 13, 1)


def test_gaps_of_a_padded_layout_hold_nan_and_set_the_stride() -> None:
    x = stored(drawn(NORMAL), case(layout="padded"), gap=5)
    assert (x.shape, x.stride()) == ((M, N), (N + 5, 1))
    assert torch.as_strided(x, (M, 5), (N + 5, 1), N).isnan().all()


def test_a_variant_leaves_out_one_kind_and_keeps_the_rest() -> None:
    """The diagnosis asks which kind of chunk a kernel fails on."""
    for family in BUILT:
        whole = rows(case(family), 9, 157)
        for other in family.without.values():
            left = rows(case(other), 9, 157)
            assert not torch.equal(left, whole)
            assert left.isfinite().all() or not other.name.endswith("EMPTY")


def test_scores_of_attention_pass_the_range_of_exp_and_raise_their_maximum_late() -> None:
    for dtype, (family, near) in itertools.product(
        DTYPES, ((attention_values.negative, -150.0), (attention_values.positive, 120.0))
    ):
        s = attention_scores(family, 60, 64, dtype)
        assert (s.sign() == (1 if near > 0 else -1)).all()
        assert s.abs().min() > 89, "exp of it overflows float32, or is below its smallest normal number"
        assert s.mean().item() == pytest.approx(near, rel=0.05)
    tiles = torch.stack([tile.amax(-1) for tile in attention_scores(attention_values.ramp, 128, 16).split(16, -1)])
    raised = (tiles[1:] > tiles[:-1].cummax(0).values + 1).sum(0)
    assert (raised >= 1).float().mean() > 0.95, "otherwise a missing rescale would hardly show"


SCORES = replace(IN_SIGHT, kinds=tuple(kind for kind in IN_SIGHT.kinds if kind != Kind.EMPTY))


def test_queries_and_keys_give_the_scores_that_were_planned() -> None:
    """Exactly where the scale is a power of two, and rounded once for any other; ties stay ties."""
    for d, dtype in itertools.product((16, 64), DTYPES.values()):
        scores = ten_bits(rows_of_kinds(7, 90, 16, SCORES, dtype, seed=0))
        q, k = given_scores(scores, 20, d, d**-0.5, dtype)
        assert torch.equal((q @ k.T) * d**-0.5, scores[torch.arange(20) % 7]), dtype
        assert all(torch.equal(x.to(dtype).double(), x) and torch.equal(ten_bits(x), x) for x in (q, k)), dtype
    for dtype, eps in ((torch.float32, 2.0**-10), (torch.float16, 2.0**-10), (torch.bfloat16, 2.0**-7)):
        scores = rows_of_kinds(7, 90, 16, SCORES, dtype, seed=0)
        q, k = given_scores(scores, 7, 32, 0.1234, dtype)
        got = (q @ k.T) * 0.1234
        assert ((got - scores).abs() <= 0.51 * eps * scores.abs()).all()
        assert ((scores[:, :, None] != scores[:, None]) | (got[:, :, None] == got[:, None])).all()
    q, _ = given_scores(torch.ones(4, 5), 8, 64, 0.125, torch.float32)
    assert q.argmax(dim=-1).tolist() == 2 * [0, 16, 32, 48], "features from end to end"


def test_sizes_and_scores_that_do_not_exist_are_refused() -> None:
    for scores, words in ((torch.ones(17, 5), "17 rows"), (torch.tensor([[1.0, -torch.inf]]), "finite")):
        with pytest.raises(ValueError, match=words):
            given_scores(scores, 4, 16, 0.25, torch.float32)
    for name, size, words in (
        ("flash_attention", {"D": 48}, "D is 16, 32, 64 or 128"),
        ("linear_attention", {"D": 48}, "D is 16, 32, 64 or 128"),
        ("flash_attention_heads", {"H_Q": 4, "H_KV": 3}, "4 query heads cannot share 3 key heads"),
    ):
        known = PUZZLES[name].cases[0]
        with pytest.raises(ValueError, match=words):
            PUZZLES[name].make(replace(known, sizes={**known.sizes, **size}))


WITH_KEYS = [p for p in PUZZLES.values() if {"k_ptr", "BLOCK_V"} <= set(p.parameters)]


def test_sums_of_linear_attention_pass_what_float16_holds() -> None:
    """Otherwise a state or a normaliser kept in float16 would go unnoticed."""
    for puzzle in WITH_KEYS:
        huge = next(c for c in puzzle.cases if (c.family.name, c.dtype) == ("huge", "float32"))
        tensors = puzzle.make(huge)
        for name in {"q_ptr", "k_ptr", "v_ptr"} & set(puzzle.parameters):
            assert tensors[name].half().isinf().any(), name
            assert tensors[name].isfinite().all(), name
        outlier = next((c for c in puzzle.cases if (c.family.name, c.dtype) == ("outlier", "float16")), None)
        if outlier is not None:
            tensors = puzzle.make(outlier)
            k, v = feature_map(tensors["k_ptr"].double()), tensors["v_ptr"].double()
            assert min(k.sum(-2).amax(), (k.mT @ v).amax()) > 65_504, puzzle.name


@pytest.mark.parametrize("puzzle", WITH_KEYS, ids=lambda puzzle: puzzle.name)
def test_inputs_repeat_a_token_or_a_head_and_outputs_never_do(puzzle: Puzzle) -> None:
    for layout, dimensions in (("repeated token", (2,)), ("repeated head", (0, 1))):
        case = next(c for c in puzzle.cases if c.layout == layout and c.sizes["B"] * c.sizes["H"] > 1)
        tensors = puzzle.make(case)
        for name in {"q_ptr", "k_ptr", "v_ptr"} & set(puzzle.parameters):
            assert [tensors[name].stride(i) for i in dimensions] == [0] * len(dimensions), name
        assert all(0 not in tensors[name].stride() for name in puzzle.outputs)


def test_a_power_of_two_passes_through_linear_attention_exactly() -> None:
    puzzle = PUZZLES["causal_linear_attention_chunked"]
    scaled_cases = [c for c in puzzle.cases if c.flags.get("POWER") and c.sizes["N"] < 100 and c.dtype != "float16"]
    assert {case.flags["POWER"] for case in scaled_cases} == {80, -80}
    for case in scaled_cases:
        plain = prepare(puzzle, replace(case, flags={**case.flags, "POWER": 0})).expected
        scaled, factor = prepare(puzzle, case).expected, 2.0 ** int(case.flags["POWER"])
        assert torch.equal(scaled["z_ptr"], plain["z_ptr"]), case.name
        assert all(torch.equal(scaled[name], plain[name] * factor) for name in ("o_ptr", "s_ptr")), case.name


def test_heavy_weights_pass_what_float16_holds_and_nothing_else_does() -> None:
    for name in ("causal_linear_attention_chunked", "causal_linear_attention_parallel"):
        case = next(c for c in PUZZLES[name].cases if c.family.name == "heavy")
        q, k = (feature_map(PUZZLES[name].make(case)[x].double()) for x in ("q_ptr", "k_ptr"))
        assert (q @ k.mT).min() > 65_504
        assert max(q.max(), k.max()) < 100


def test_heads_go_on_from_every_kind_of_earlier_text() -> None:
    case = Case({"B": 1, "H": 6, "N": 1, "D": 16, "D_V": 16}, {}, flags={"PAST": 11})
    s, z = (x[0].flatten(1) for x in vars(linear_values.past(case)).values())
    assert [bool((x < 0).all()) for x in s] == [False, True, False, False, False, False]
    assert [bool(x.any()) for x in s] == [True, True, False, True, True, False]
    assert [bool((x > 0).all()) for x in z] == [True, True, True, True, True, False]
    assert s[3].abs().max() > 65_504 > s[0].abs().max() > 1 > s[4].abs().max()
