"""Each family of rows, queries and keys has the property that it exists for: without it, a mistake would pass."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from checker.course import PUZZLES
from checker.course.attention_values import given_scores
from checker.course.families import rows
from checker.course.tensors import stored
from checker.judge.launches import prepare
from checker.puzzle import NORMAL, Case, Family, Puzzle

M, N, BLOCK = 5, 41, 16


def case(family: Family = NORMAL, **more) -> Case:
    return Case({"M": M, "N": N}, {"BLOCK_N": BLOCK}, family=family, **more)


def drawn(family: Family, **more) -> torch.Tensor:
    return rows(case(family, **more), M, N)


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
