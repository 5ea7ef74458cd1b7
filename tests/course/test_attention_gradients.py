"""The gradients of attention equal automatic differentiation and finite differences."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from checker.course import PUZZLES
from checker.course.attention import attention
from checker.course.attention_gradients import gradients, many_small
from checker.course.attention_heads import key_lengths, seen
from checker.course.attention_values import scale_of
from checker.judge.comparison import error_against
from checker.puzzle import DTYPES, Case, Tensors
from tests.course.attention import heads_case

NAMES = ("attention_dkdv", "attention_dq")
SETTINGS = [
    heads_case(2, (4, 2), (5, 7), 16, 16),
    heads_case(3, (3, 1), (9, 6), 16, 16, {"IS_CAUSAL": True, "SCALE": 0.3}, layout="strided"),
    heads_case(3, (2, 2), (6, 9), 16, 16, {"IS_CAUSAL": True, "RAGGED": 1}, layout="transposed"),
    heads_case(3, (2, 1), (4, 8), 16, 16, {"RAGGED": 2}, family="negative"),
    heads_case(1, (8, 1), (3, 5), 16, 16, family="large"),
]


def inputs_of(case: Case) -> Tensors:
    """All inputs in float64, the log-sum-exp and Δ not rounded to float32."""
    tensors = PUZZLES["attention_dq"].make(case)
    exact = {n: t.double() if t.is_floating_point() else t for n, t in tensors.items() if n != "dq_ptr"}
    o, lse = forward(case, exact, exact["q_ptr"], exact["k_ptr"], exact["v_ptr"])
    return exact | {"lse_ptr": lse, "delta_ptr": (o * exact["do_ptr"]).sum(-1)}


def forward(
    case: Case, tensors: Tensors, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    group = case.sizes["H_Q"] // case.sizes["H_KV"]
    k, v = (x.repeat_interleave(group, dim=1) for x in (k, v))
    return attention(q, k, v, scale_of(case), seen(case, tensors["key_lengths_ptr"]))


def test_automatic_differentiation_gives_the_same():
    for case in SETTINGS:
        tensors = inputs_of(case)
        q, k, v = (tensors[f"{name}_ptr"].clone().requires_grad_() for name in "qkv")
        o, _ = forward(case, tensors, q, k, v)
        theirs = torch.autograd.grad(o, (q, k, v), tensors["do_ptr"])
        for ours, expected in zip(gradients(case, tensors), theirs, strict=True):
            # a query that sees nothing gives NaN there, and here a gradient of 0
            expected = expected.nan_to_num(0.0)
            size = float(expected.abs().max())
            torch.testing.assert_close(ours, expected, rtol=1e-9, atol=1e-11 * size)


def test_finite_differences_give_the_same():
    """The sum of dO ∘ O grows along random directions of q, k and v as the gradients say."""
    for case in SETTINGS[:4]:
        tensors, step = inputs_of(case), 1e-5
        for name, gradient in zip("qkv", gradients(case, tensors), strict=True):
            x = tensors[f"{name}_ptr"]
            direction = torch.randn(x.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
            outputs = []
            for sign in (1, -1):
                moved = {n: tensors[f"{n}_ptr"] for n in "qkv"} | {name: x + sign * step * direction}
                outputs.append(forward(case, tensors, **moved)[0])
            slope = ((outputs[0] - outputs[1]) * tensors["do_ptr"]).sum() / (2 * step)
            torch.testing.assert_close((gradient * direction).sum(), slope, rtol=1e-5, atol=1e-7)


def test_unseen_queries_and_keys_have_a_gradient_of_exactly_0():
    case = heads_case(3, (2, 1), (40, 23), 16, 16, {"IS_CAUSAL": True, "RAGGED": 1})
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
    case = heads_case(1, (1, 1), (2, 3), 2, 16, {"SCALE": 1.0})
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


@pytest.mark.parametrize(
    ("name", "along", "tile"), [("attention_dkdv", "N_Q", "BLOCK_M"), ("attention_dq", "N_KV", "BLOCK_N")]
)
def test_a_sum_in_16_bits_fails_the_long_cases(name, along, tile):
    """The reference itself, its terms added tile by tile and rounded every time."""
    puzzle = PUZZLES[name]
    for dtype in ("float16", "bfloat16"):
        (case,) = (c for c in puzzle.cases if c.family == many_small and c.dtype == dtype and c.sizes["H_Q"] == 1)
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


def test_the_budget_leaves_out_tiles_that_no_query_sees():
    """Four tiles of keys: under a causal mask they are seen by four, three, two and one tile of queries."""
    puzzle, case = PUZZLES["attention_dkdv"], heads_case(1, (2, 1), (64, 64), 16, 16, {"IS_CAUSAL": True})
    assert puzzle.budget(case)["q_ptr"].loaded == 2 * (4 + 3 + 2 + 1) * 16 * 16 * 4
    longer = replace(case, sizes={**case.sizes, "N_KV": 80})  # keys before the first query: all see the first two tiles
    assert puzzle.budget(longer)["q_ptr"].loaded == 2 * (4 + 4 + 3 + 2 + 1) * 16 * 16 * 4
    shorter = replace(case, sizes={**case.sizes, "N_KV": 32})  # the first two tiles of queries see nothing
    assert puzzle.budget(shorter)["do_ptr"].loaded == 2 * (2 + 1) * 16 * 16 * 4
