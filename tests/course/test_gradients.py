"""The way back: references against torch.autograd and finite differences, answers that compute nothing, cases that hold what they are for."""

from __future__ import annotations

from itertools import combinations, product
from random import Random

import pytest
import torch

from checker.course import PUZZLES, attention_delta, softmax_backward
from checker.judge.comparison import error_against
from checker.puzzle import DTYPES, Case, Puzzle

SOFTMAX, DELTA = PUZZLES["softmax_backward"], PUZZLES["attention_delta"]
BOTH = [pytest.param(puzzle, id=puzzle.name) for puzzle in (SOFTMAX, DELTA)]


def cpu(puzzle: Puzzle) -> list[Case]:
    return [case for case in puzzle.cases if "cpu" in case.devices]


def difference(f, x: torch.Tensor, step: float = 1e-6) -> torch.Tensor:
    """The gradient of f, one number of x at a time."""
    slopes = []
    for i in range(x.numel()):
        moved = torch.zeros_like(x).reshape(-1)
        moved[i] = step
        moved = moved.reshape(x.shape)
        slopes.append((f(x + moved) - f(x - moved)) / (2 * step))
    return torch.stack(slopes).reshape(x.shape)


def test_the_way_back_through_a_softmax_is_autograds_and_that_of_finite_differences():
    g = torch.Generator().manual_seed(3)
    x, dy = (torch.randn(4, 7, generator=g, dtype=torch.float64) for _ in range(2))
    x[1, 2:5] = -torch.inf
    x.requires_grad_()
    y = torch.softmax(x, dim=-1)
    (by_autograd,) = torch.autograd.grad(y, x, dy)
    x = x.detach()
    finite = x.masked_fill(x == -torch.inf, -1e3)
    by_differences = difference(lambda x: (torch.softmax(x, dim=-1) * dy).sum(), finite)
    ours = softmax_backward.reference(SOFTMAX.cases[0], {"y_ptr": y.detach(), "dy_ptr": dy})["dx_ptr"]
    torch.testing.assert_close(ours, by_autograd, rtol=1e-12, atol=1e-15)
    torch.testing.assert_close(ours, by_differences, rtol=1e-6, atol=1e-9)
    assert (ours[1, 2:5] == 0).all()
    assert ours.sum(dim=-1).abs().max() < 1e-15


def test_delta_is_what_the_way_back_through_the_weights_subtracts():
    """Σ P ∘ dP over the keys, with P and dP = dO Vᵀ from autograd, is the sum of dO ∘ O over the features."""
    g = torch.Generator().manual_seed(4)
    s, v, do = (torch.randn(2, 3, *shape, generator=g, dtype=torch.float64) for shape in ((5, 9), (9, 16), (5, 16)))
    p = torch.softmax(s, dim=-1).requires_grad_()
    o = p @ v
    (dp,) = torch.autograd.grad(o, p, do)
    by_differences = difference(lambda p: ((p @ v[0, 0]) * do[0, 0]).sum(), p[0, 0].detach())
    torch.testing.assert_close(dp[0, 0], by_differences, rtol=1e-6, atol=1e-8)
    ours = attention_delta.reference(DELTA.cases[0], {"o_ptr": o.detach(), "do_ptr": do})["delta_ptr"]
    torch.testing.assert_close(ours, (p.detach() * dp).sum(dim=-1), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("puzzle", BOTH)
@pytest.mark.parametrize("answer", ["zeros", "gradient", "half"])
def test_an_answer_that_computes_nothing_is_far_outside_the_tolerance(puzzle: Puzzle, answer: str):
    for case in (*cpu(puzzle), *puzzle.drawn(Random(1))):
        inputs = {name: t.double() for name, t in puzzle.make(case).items()}
        (output,) = puzzle.outputs
        expected = puzzle.reference(case, inputs)[output]
        if case.sizes.get("N") == 1:
            continue  # the softmax of one number is always 1
        gradient = inputs["dy_ptr"] if puzzle is SOFTMAX else inputs["do_ptr"].sum(dim=-1)
        got = {"zeros": torch.zeros_like(expected), "gradient": gradient, "half": expected / 2}[answer]
        if case.family.name == "many_small" and answer == "gradient":
            continue  # there the output is 1 throughout
        assert error_against(puzzle, case, output, got, expected).max() > 4, case.name


@pytest.mark.parametrize("puzzle", BOTH)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_delta_that_is_rounded_to_16_bits_is_seen(puzzle: Puzzle, dtype: str):
    seen = 0
    for case in (case for case in cpu(puzzle) if case.dtype == "float32"):
        inputs = {name: t.double() for name, t in puzzle.make(case).items()}
        (output,) = puzzle.outputs
        expected = puzzle.reference(case, inputs)[output]
        if puzzle is SOFTMAX:
            y, dy = inputs["y_ptr"], inputs["dy_ptr"]
            got = y * (dy - (y * dy).sum(dim=-1, keepdim=True).to(DTYPES[dtype]).double())
        else:
            got = expected.to(DTYPES[dtype]).double()
        seen += bool(error_against(puzzle, case, output, got, expected).max() > 1)
    assert seen >= 3


@pytest.mark.parametrize("puzzle", BOTH)
def test_float32_arithmetic_in_any_order_keeps_half_of_the_tolerance(puzzle: Puzzle):
    for case in cpu(puzzle):
        made = puzzle.make(case)
        (output,) = puzzle.outputs
        inputs = {name: t.double() for name, t in made.items()}
        expected = puzzle.reference(case, inputs)[output]
        one, other = (made[name].float() for name in puzzle.parameters[:2])
        products = one * other
        for order in (slice(None), torch.arange(products.shape[-1] - 1, -1, -1)):
            total = products[..., order].cumsum(dim=-1)[..., -1]
            got = one * (other - total[..., None]) if puzzle is SOFTMAX else total
            got = got.to(made[output].dtype)
            assert error_against(puzzle, case, output, got, expected).max() <= 0.7, case.name


def factors(case: Case) -> dict[str, object]:
    n, block = case.sizes["N_Q"], case.meta["BLOCK_M"]
    remainder = {0: "none", 1: "one", block - 1: "all but one"}.get(n % block, "other")
    own = {name: getattr(case, name) for name in ("dtype", "layout", "family")}
    return {**own, "remainder": remainder, "tile": block, **{name: case.sizes[name] for name in ("B", "H_Q", "D")}}


def test_every_pair_of_deltas_factors_meets_in_some_case():
    drawn = [case for case in cpu(DELTA) if case.meta["BLOCK_M"] in (16, 32, 64) and case.sizes["H_Q"] <= 3]
    outside = ("tiny_outputs", "small_gradients", "blanks")  # of the pairs
    covered = [
        factors(case)
        for case in drawn
        if case.family.name not in outside and case.layout in ("strided", "transposed", "contiguous")
    ]
    values = {factor: {one[factor] for one in covered} for factor in covered[0]}
    assert {len(values[name]) for name in ("dtype", "layout")} == {3}
    for one, other in combinations(values, 2):
        met = {(case[one], case[other]) for case in covered}
        for x, y in product(values[one], values[other]):
            assert (x, y) in met, f"{one} {x} with {other} {y}"


def test_no_stride_of_o_stands_for_one_of_its_gradient():
    case = next(case for case in cpu(DELTA) if case.layout == "strided" and min(case.sizes.values()) > 1)
    made = DELTA.make(case)
    strides = [*made["o_ptr"].stride(), *made["do_ptr"].stride()]
    assert len(set(strides)) == 8
    assert 1 not in strides


@pytest.mark.parametrize("puzzle", BOTH)
def test_the_last_drawn_case_is_the_longest_and_small_cases_come_first(puzzle: Puzzle):
    length = "N" if puzzle is SOFTMAX else "N_Q"
    for seed in range(10):
        *_, last = puzzle.drawn(Random(seed))
        assert all(last.sizes[length] > case.sizes[length] for case in cpu(puzzle))
    assert max(sum(t.numel() for t in puzzle.make(case).values()) for case in cpu(puzzle)[:3]) < 1500
    assert max(sum(t.numel() * 8 for t in puzzle.make(case).values()) for case in cpu(puzzle)) < 2**25
