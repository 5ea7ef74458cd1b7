"""Gradients are judged by tolerances that reject empty answers and sums in 16 bits, and let honest float32 arithmetic pass."""

from __future__ import annotations

from random import Random

import pytest
import torch

from checker.course import PUZZLES
from checker.course.attention_gradients import many_small
from checker.judge.comparison import error_against
from checker.puzzle import DTYPES, Case, Puzzle, Tensors
from tests.judge.helpers import cpu_cases

SOFTMAX, DELTA = PUZZLES["softmax_backward"], PUZZLES["attention_delta"]
BOTH = (SOFTMAX, DELTA)


def worst(puzzle: Puzzle, case: Case, got: torch.Tensor, expected: torch.Tensor) -> float:
    (output,) = puzzle.outputs
    return float(error_against(puzzle, case, output, got, expected).max())


def given(puzzle: Puzzle, case: Case) -> tuple[Tensors, torch.Tensor]:
    """The inputs in float64, and the gradient."""
    inputs = {name: t.double() for name, t in puzzle.make(case).items()}
    return inputs, puzzle.reference(case, inputs)[puzzle.outputs[0]]


def test_an_answer_that_computes_nothing_is_far_outside_the_tolerance() -> None:
    for puzzle in BOTH:
        for case in (*cpu_cases(puzzle), *puzzle.drawn(Random(1))):
            if case.sizes.get("N") == 1:
                continue  # the softmax of one number is always 1
            inputs, expected = given(puzzle, case)
            gradient = inputs["dy_ptr"] if puzzle is SOFTMAX else inputs["do_ptr"].sum(dim=-1)
            assert worst(puzzle, case, expected / 2, expected) > 4, case.name
            # where the output is 1 throughout, the gradient is the answer
            assert case.family.name == "many_small" or worst(puzzle, case, gradient, expected) > 4, case.name


def test_a_delta_that_is_rounded_to_16_bits_is_seen() -> None:
    for puzzle in BOTH:
        for dtype in (torch.float16, torch.bfloat16):
            seen = 0
            for case in cpu_cases(puzzle, "float32"):
                inputs, expected = given(puzzle, case)
                if puzzle is SOFTMAX:
                    y, dy = inputs["y_ptr"], inputs["dy_ptr"]
                    got = y * (dy - (y * dy).sum(dim=-1, keepdim=True).to(dtype).double())
                else:
                    got = expected.to(dtype).double()
                seen += worst(puzzle, case, got, expected) > 1
            assert seen >= 3


def test_float32_arithmetic_in_any_order_keeps_within_the_tolerance() -> None:
    for puzzle in BOTH:
        for case in cpu_cases(puzzle):
            made, (_, expected) = puzzle.make(case), given(puzzle, case)
            one, other = (made[name].float() for name in puzzle.parameters[:2])
            products = one * other
            for order in (slice(None), torch.arange(products.shape[-1] - 1, -1, -1)):
                total = products[..., order].cumsum(dim=-1)[..., -1]
                got = one * (other - total[..., None]) if puzzle is SOFTMAX else total
                assert worst(puzzle, case, got.to(made[puzzle.outputs[0]].dtype), expected) <= 0.7, case.name


def test_a_log_sum_exp_that_is_rounded_to_16_bits_is_seen() -> None:
    """It is float32 whatever the inputs are."""
    puzzle = PUZZLES["flash_attention_heads"]
    for dtype in ("float16", "bfloat16"):
        seen = 0
        for case in [c for c in cpu_cases(puzzle, dtype) if c.sizes["N_Q"] * c.sizes["N_KV"] < 10_000]:
            expected = puzzle.reference(case, {key: t.double() for key, t in puzzle.make(case).items()})["lse_ptr"]
            rounded = expected.to(DTYPES[dtype])
            assert error_against(puzzle, case, "lse_ptr", expected.float(), expected).max() < 0.1
            seen += bool(error_against(puzzle, case, "lse_ptr", rounded, expected).max() > 1)
        assert seen >= 3, (dtype, seen)


@pytest.mark.parametrize(
    ("name", "along", "tile"), [("attention_dkdv", "N_Q", "BLOCK_M"), ("attention_dq", "N_KV", "BLOCK_N")]
)
def test_a_sum_in_16_bits_fails_the_long_cases(name: str, along: str, tile: str) -> None:
    """The reference itself, its terms added tile by tile and rounded every time."""
    puzzle = PUZZLES[name]
    for dtype in ("float16", "bfloat16"):
        (case,) = (c for c in puzzle.cases if c.family == many_small and c.dtype == dtype and c.sizes["H_Q"] == 1)
        tensors = puzzle.make(case)
        whole = puzzle.reference(case, tensors)
        for output in puzzle.outputs:
            total = torch.zeros_like(whole[output]).to(DTYPES[dtype])
            for start in range(0, case.sizes[along], case.meta[tile]):
                part = dict(tensors)
                for n in ("q_ptr", "do_ptr") if along == "N_Q" else ("k_ptr",):
                    part[n] = torch.zeros_like(tensors[n])
                    part[n][:, :, start : start + case.meta[tile]] = tensors[n][:, :, start : start + case.meta[tile]]
                if along == "N_Q":
                    part["delta_ptr"] = torch.where(part["do_ptr"].any(-1), tensors["delta_ptr"], 0.0)
                total = (total.double() + puzzle.reference(case, part)[output]).to(DTYPES[dtype])
            assert error_against(puzzle, case, output, total, whole[output]).max() > 2, (output, dtype)
