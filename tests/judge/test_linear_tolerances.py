"""What linear attention's tolerances let pass and what not: TF32 passes, operands in bfloat16 fail, and so does a state in 16 bits."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from checker.course import PUZZLES
from checker.judge.launches import cases_of, prepare_all
from checker.judge.outcome import simulate_cases
from checker.puzzle import Case, Puzzle
from checker.submission.kernel import KernelSource
from tests.judge.helpers import changed, solution

ALL = ("linear_attention", "causal_linear_attention_chunked", "linear_chunk_states", "causal_linear_attention_parallel")
IN_BFLOAT16 = {
    "weights": (
        "tl.dot(q.to(v.dtype), tl.trans(k.to(v.dtype)))",
        "tl.dot(q.to(tl.bfloat16), tl.trans(k.to(tl.bfloat16)))",
    ),
    "values": ("tl.dot(a.to(v.dtype), v, num)", "tl.dot(a.to(tl.bfloat16), v.to(tl.bfloat16), num)"),
    "state": ("tl.trans(k.to(v.dtype)), v", "tl.trans(k.to(tl.bfloat16)), v.to(tl.bfloat16)"),
    "queries": ("tl.dot(q, state)", "tl.dot(q.to(tl.bfloat16), state.to(tl.bfloat16))"),
}
"""Each product of the solutions, its operands rounded once more."""
PRODUCTS = [(name, what) for name in ALL for what in IN_BFLOAT16 if IN_BFLOAT16[what][0] in solution(name).source]
STATE = "z += tl.sum(k, axis=0)"
KEPT = {
    "state": "state = state.to(v.dtype).to(tl.float32)",
    "normaliser": "z = z.to(v.dtype).to(tl.float32)",
}


def worst(puzzle: Puzzle, source: KernelSource, cases: list[Case], runner) -> list[float]:
    """The largest error of each case, in terms of what is allowed."""
    outcomes = simulate_cases(puzzle, source, runner, prepare_all(puzzle, [(case, None) for case in cases]))
    return [o.comparison.worst for o in outcomes if o.comparison is not None]


def on_cpu(puzzle: Puzzle, dtype: str) -> list[Case]:
    return [case for case in puzzle.cases if "cpu" in case.devices and case.dtype == dtype]


@pytest.mark.parametrize(("name", "product"), PRODUCTS)
def test_operands_in_bfloat16_fail_in_float32_where_tf32_loses_nothing(name, product, runner):
    puzzle, cases = PUZZLES[name], [c for c in PUZZLES[name].cases if c.family == "halfway"]
    assert [c.dtype for c in cases] == ["float32"]
    assert max(worst(puzzle, solution(name), cases, runner)) < 0.02
    assert max(worst(puzzle, changed(solution(name), *IN_BFLOAT16[product]), cases, runner)) > 1.5


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("name", ["linear_attention", "causal_linear_attention_chunked"])
def test_a_state_in_16_bits_is_plainly_wrong_after_a_long_text(name, kept, dtype, runner):
    puzzle = PUZZLES[name]
    cases = [c for c in on_cpu(puzzle, dtype) if c.family == "many_small"]
    assert cases
    line = f"        {STATE}\n"
    source = changed(solution(name), line, f"{line}        {KEPT[kept]}\n")
    assert min(worst(puzzle, source, cases, runner)) > 1.4


@pytest.mark.parametrize("name", [*ALL, "causal_linear_attention", "linear_state_prefix"])
def test_other_numbers_from_a_seed_keep_the_margin_too(name, runner):
    puzzle = PUZZLES[name]
    cases = [replace(c, name=f"{i}: {c.name}") for i, c in enumerate(cases_of(puzzle, 7)) if "cpu" in c.devices]
    assert max(worst(puzzle, solution(name), cases, runner)) < 0.8


@pytest.mark.parametrize("name", [*ALL, "causal_linear_attention", "linear_state_prefix"])
def test_drawn_cases_are_the_same_from_the_same_seed_and_one_is_larger_than_all_public_ones(name):
    puzzle = PUZZLES[name]
    drawn = puzzle.drawn(Random(3))
    assert drawn == puzzle.drawn(Random(3)) != puzzle.drawn(Random(4))
    longest = "N_CHUNKS" if name == "linear_state_prefix" else "N_KV" if name == "linear_attention" else "N"
    assert drawn[-1].sizes[longest] > max(c.sizes[longest] for c in puzzle.cases if "cpu" in c.devices)
