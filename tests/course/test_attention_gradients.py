"""The gradients of attention: against automatic differentiation and finite differences, and what their cases hold."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from random import Random

import pytest
import torch

from checker.course import PUZZLES
from checker.course.attention_cases import TILES, WIDTHS
from checker.course.attention_gradients import MANY_SMALL, gradients
from checker.course.attention_heads import heads_case, key_lengths, seen
from checker.course.attention_inputs import attention, scale_of
from checker.judge.comparison import error_against
from checker.puzzle import DTYPES, Case, Tensors
from tests.course.test_attention_cases import factors

NAMES = ("attention_dkdv", "attention_dq")
SETTINGS = [
    heads_case(2, (4, 2), (5, 7), 16, (16, 16)),
    heads_case(3, (3, 1), (9, 6), 16, (16, 16), {"IS_CAUSAL": True, "SCALE": 0.3}, layout="strided"),
    heads_case(3, (2, 2), (6, 9), 16, (16, 16), {"IS_CAUSAL": True, "RAGGED": 1}, layout="transposed"),
    heads_case(3, (2, 1), (4, 8), 16, (16, 16), {"RAGGED": 2}, family="negative"),
    heads_case(1, (8, 1), (3, 5), 16, (16, 16), family="large"),
]


def given(case: Case) -> Tensors:
    """All inputs in float64, the log-sum-exp and Δ not rounded to float32."""
    tensors = PUZZLES["attention_dq"].make(case)
    found = {n: t.double() if t.is_floating_point() else t for n, t in tensors.items() if n != "dq_ptr"}
    o, lse = forward(case, found, found["q_ptr"], found["k_ptr"], found["v_ptr"])
    return found | {"lse_ptr": lse, "delta_ptr": (o * found["do_ptr"]).sum(-1)}


def forward(
    case: Case, tensors: Tensors, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    group = case.sizes["H_Q"] // case.sizes["H_KV"]
    k, v = (x.repeat_interleave(group, dim=1) for x in (k, v))
    return attention(q, k, v, scale_of(case), seen(case, tensors["key_lengths_ptr"]))


@pytest.mark.parametrize("case", SETTINGS, ids=lambda case: case.name)
def test_automatic_differentiation_gives_the_same(case):
    tensors = given(case)
    q, k, v = (tensors[f"{name}_ptr"].clone().requires_grad_() for name in "qkv")
    o, _ = forward(case, tensors, q, k, v)
    theirs = torch.autograd.grad(o, (q, k, v), tensors["do_ptr"])
    for ours, expected in zip(gradients(case, tensors), theirs, strict=True):
        # a query that sees nothing gives NaN there, and the gradients of nothing are 0
        expected = expected.nan_to_num(0.0)
        size = float(expected.abs().max())
        torch.testing.assert_close(ours, expected, rtol=1e-9, atol=1e-11 * size)


@pytest.mark.parametrize("case", SETTINGS[:4], ids=lambda case: case.name)
def test_finite_differences_give_the_same(case):
    """Along random directions: what the sum of dO ∘ O grows by when one of q, k and v moves a little."""
    tensors, step = given(case), 1e-5
    found = gradients(case, tensors)
    for name, gradient in zip("qkv", found, strict=True):
        x = tensors[f"{name}_ptr"]
        direction = torch.randn(x.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
        outputs = []
        for sign in (1, -1):
            moved = {n: tensors[f"{n}_ptr"] for n in "qkv"} | {name: x + sign * step * direction}
            outputs.append(forward(case, tensors, **moved)[0])
        slope = ((outputs[0] - outputs[1]) * tensors["do_ptr"]).sum() / (2 * step)
        torch.testing.assert_close((gradient * direction).sum(), slope, rtol=1e-5, atol=1e-7)


def test_gradients_of_what_is_not_seen_are_0_and_no_error_is_allowed_there():
    case = heads_case(3, (2, 1), (40, 23), 16, (16, 16), {"IS_CAUSAL": True, "RAGGED": 1})
    lengths = key_lengths(case)
    assert sorted(lengths.tolist()) == [0, 17, 23]
    unseen = ~seen(case, lengths).any(dim=-1)[:, 0]  # [B, N_Q]
    for name in NAMES:
        puzzle = PUZZLES[name]
        tensors = puzzle.make(case)
        expected = puzzle.reference(case, {n: t for n, t in tensors.items() if n not in puzzle.outputs})
        hidden = {"dq_ptr": unseen, "dk_ptr": torch.arange(23) >= lengths[:, None]}
        hidden["dv_ptr"] = hidden["dk_ptr"]
        for output in puzzle.outputs:
            rows = expected[output].transpose(1, 2)[hidden[output]]
            assert len(rows) > 0
            assert (rows == 0).all()
            assert expected[output].isfinite().all()
            error = error_against(puzzle, case, output, expected[output] + 1e-30, expected[output])
            assert error.transpose(1, 2)[hidden[output]].isinf().all()
        assert (tensors["lse_ptr"].transpose(1, 2)[unseen] == -torch.inf).all()
        assert (tensors["delta_ptr"].transpose(1, 2)[unseen] == 0).all()


def test_two_by_three_by_hand():
    """Scores 0 and log 2: weights of a third, a third and a third, and of a quarter, a quarter and a half."""
    two = torch.log(torch.tensor(2.0, dtype=torch.float64))
    case = heads_case(1, (1, 1), (2, 3), 2, (16, 16), {"SCALE": 1.0})
    q = torch.tensor([[0.0, 1.0], [1.0, 0.0]]).double()
    k = torch.tensor([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]]).double() * two
    v, do = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]).double(), torch.tensor([[3.0, 0.0], [0.0, 4.0]]).double()
    o, lse = attention(q, k, v, 1.0)
    tensors = {"q_ptr": q, "k_ptr": k, "v_ptr": v, "do_ptr": do, "lse_ptr": lse, "delta_ptr": (do * o).sum(-1)}
    tensors = {name: t[None, None] for name, t in tensors.items()} | {"key_lengths_ptr": torch.tensor([3])}
    dq, dk, dv = (x[0, 0] for x in gradients(case, tensors))
    torch.testing.assert_close(dv, torch.tensor([[1.0, 1.0], [1.0, 1.0], [1.0, 2.0]]).double())
    torch.testing.assert_close(dk, torch.tensor([[-0.75, 1 / 3], [0.25, -2 / 3], [0.5, 1 / 3]]).double())
    torch.testing.assert_close(dq, torch.tensor([[1 / 3, 0.0], [0.5, 0.0]]).double() * two)


@pytest.mark.parametrize("name", NAMES)
def test_every_pair_of_factors_that_there_can_be_meets_in_some_case(name):
    cases = [c for c in PUZZLES[name].cases if "cpu" in c.devices and tuple(c.meta.values()) in TILES]
    families = ("large", "normal", "negative", "positive")
    cases = [
        c
        for c in cases
        if c.family.name in families and c.sizes["H_Q"] < 82 and c.layout in ("strided", "transposed", "contiguous")
    ]
    known = [factors(c) | {"family": c.family.name, "batches": c.sizes["B"]} for c in cases]
    values = {factor: {case[factor] for case in known} for factor in known[0]}
    assert values["d"] == set(WIDTHS)
    assert values["tile"] == set(TILES)
    assert values["dtype"] == set(DTYPES)
    assert values["group"] == {1, 2, 3, 8}
    assert values["ragged"] == {0, 1, 2}
    for one, other in combinations(values, 2):
        if {one, other} & {"batches"} or "other" in (one, other):  # eight heads come in one text only
            continue
        met = {(case[one], case[other]) for case in known}
        for x, y in product(values[one], values[other]):
            assert (x, y) in met, f"{one} {x} with {other} {y}"


def test_lengths_end_inside_a_tile_at_its_end_after_one_key_and_before_the_first():
    found = set()
    for case in (c for c in PUZZLES["attention_dkdv"].cases if "cpu" in c.devices):
        n, block = case.sizes["N_KV"], case.meta["BLOCK_N"]
        for length in key_lengths(case).tolist():
            found.add(length if length < 2 else "all" if length == n else "full" if length % block == 0 else "inside")
    assert found == {0, 1, "all", "full", "inside"}


@pytest.mark.parametrize(("name", "along", "tile"), [("attention_dkdv", "N_Q", "BLOCK_M"), ("attention_dq", "N_KV", "BLOCK_N")])  # fmt: skip
def test_the_long_cases_lose_what_is_small_in_a_sum_of_16_bits(name, along, tile):
    """The reference itself, its terms added tile by tile and rounded every time."""
    puzzle = PUZZLES[name]
    for dtype in ("float16", "bfloat16"):
        (case,) = (c for c in puzzle.cases if c.family.name == MANY_SMALL and c.dtype == dtype and c.sizes["H_Q"] == 1)
        assert case.sizes[along] > 40 * case.meta[tile]
        tensors = puzzle.make(case)
        whole = puzzle.reference(case, tensors)
        for output in puzzle.outputs:
            total = torch.zeros_like(whole[output]).to(DTYPES[dtype])
            for start in range(0, case.sizes[along], case.meta[tile]):
                part = dict(tensors)
                for n in ("q_ptr", "do_ptr") if along == "N_Q" else ("k_ptr",):
                    kept = torch.zeros_like(tensors[n])
                    kept[:, :, start : start + case.meta[tile]] = tensors[n][:, :, start : start + case.meta[tile]]
                    part[n] = kept
                if along == "N_Q":
                    part["lse_ptr"] = tensors["lse_ptr"].clone()
                    part["delta_ptr"] = torch.where(part["do_ptr"].any(-1), tensors["delta_ptr"], 0.0)
                total = (total.double() + puzzle.reference(case, part)[output]).to(DTYPES[dtype])
            assert error_against(puzzle, case, output, total, whole[output]).max() > 2, (output, dtype)


@pytest.mark.parametrize(("name", "along"), [("attention_dkdv", "N_Q"), ("attention_dq", "N_KV")])
def test_the_last_drawn_case_has_the_longest_walk(name, along):
    for seed in range(20):
        *_, last = PUZZLES[name].drawn(Random(seed))
        assert all(last.sizes[along] > case.sizes[along] for case in PUZZLES[name].cases if "cpu" in case.devices)


def test_tiles_that_nobody_sees_cost_nothing():
    """Four tiles of keys: under a causal mask they are seen by four, three, two and one tile of queries."""
    puzzle, case = PUZZLES["attention_dkdv"], heads_case(1, (2, 1), (64, 64), 16, (16, 16), {"IS_CAUSAL": True})
    assert puzzle.budget(case)["q_ptr"].loaded == 2 * (4 + 3 + 2 + 1) * 16 * 16 * 4
    longer = replace(case, sizes={**case.sizes, "N_KV": 80})  # keys before the first query: all see the first two tiles
    assert puzzle.budget(longer)["q_ptr"].loaded == 2 * (4 + 4 + 3 + 2 + 1) * 16 * 16 * 4
    shorter = replace(case, sizes={**case.sizes, "N_KV": 32})  # the first two tiles of queries see nothing
    assert puzzle.budget(shorter)["do_ptr"].loaded == 2 * (2 + 1) * 16 * 16 * 4
