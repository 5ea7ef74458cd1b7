"""The tolerances of attention: TF32 passes, bfloat16 operands fail, and so does a state kept in 16 bits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checker.course import LADDER, PUZZLES
from checker.judge.launches import cases_of, prepare_all
from checker.judge.outcome import Candidate
from checker.live.in_process import InProcess
from tests.judge.helpers import changed, cpu_cases, judge, solution
from tests.misconceptions.kernels import correct

SOFTMAX = ("flash_attention", "flash_attention_v1", "flash_attention_heads")
LINEAR = (
    "linear_attention",
    "causal_linear_attention_chunked",
    "linear_chunk_states",
    "causal_linear_attention_parallel",
)
IN_BFLOAT16 = {
    "scores": ("tl.dot(q, tl.trans(k))", "tl.dot(q.to(tl.bfloat16), tl.trans(k.to(tl.bfloat16)))"),
    "values": ("tl.dot(p.to(v.dtype), v,", "tl.dot(p.to(tl.bfloat16), v.to(tl.bfloat16),"),
    "weights": ("tl.dot(p.to(v.dtype), v,", "tl.dot(p.to(tl.bfloat16).to(v.dtype), v,"),
    "linear weights": (
        "tl.dot(q.to(v.dtype), tl.trans(k.to(v.dtype)))",
        "tl.dot(q.to(tl.bfloat16), tl.trans(k.to(tl.bfloat16)))",
    ),
    "linear values": ("tl.dot(a, v.to(tl.float32), num,", "tl.dot(a.to(tl.bfloat16), v.to(tl.bfloat16), num,"),
    "linear state": ("tl.trans(k.to(v.dtype)), v", "tl.trans(k.to(tl.bfloat16)), v.to(tl.bfloat16)"),
    "linear queries": ("tl.dot(q, state,", "tl.dot(q.to(tl.bfloat16), state.to(tl.bfloat16),"),
}
"""Each product of the solutions, its operands rounded once more."""
PRODUCTS = [
    (name, what)
    for name in (*SOFTMAX, *LINEAR)
    for what, (product, _) in IN_BFLOAT16.items()
    if product in solution(name).source
]
M_I, Z = "m_i = m_new", "z += tl.sum(k, axis=0)"
KEPT = {
    "sum": (SOFTMAX[::2], M_I, "l_i = l_i.to(q.dtype).to(tl.float32)"),
    "accumulator": (SOFTMAX[::2], M_I, "acc = acc.to(q.dtype).to(tl.float32)"),
    "state": (LINEAR[:2], Z, "state = state.to(v.dtype).to(tl.float32)"),
    "normaliser": (LINEAR[:2], Z, "z = z.to(v.dtype).to(tl.float32)"),
}
"""What is kept in 16 bits, in which kernels, below which line."""


@pytest.fixture
def runner(tmp_path):
    return InProcess(tmp_path, compiles=False)


def errors(name, source, cases, runner):
    """The largest error of each case, in terms of what is allowed."""
    prepared = prepare_all(PUZZLES[name], [(case, None) for case in cases])
    outcomes = Candidate(PUZZLES[name], source, runner).simulate_cases(prepared)
    return [outcome.comparison.worst for outcome in outcomes if outcome.comparison is not None]


def of_families(name, dtype, *families):
    cases = [case for case in cpu_cases(PUZZLES[name], dtype) if case.family.name in families]
    assert cases
    return cases


@pytest.mark.parametrize(("name", "product"), PRODUCTS)
def test_operands_in_bfloat16_fail_in_float32_where_tf32_passes(name, product, runner):
    # operands of "halfway" are exact in TF32; a state that sums 40 of them may need one bit more than TF32 has
    families, passes, fails = (
        (["halfway"], 0.1, 1.5) if name in LINEAR else (["score_pairs_in_sight", "normal"], 0.5, 1)
    )
    cases = of_families(name, "float32", *families)
    assert max(errors(name, solution(name), cases, runner)) < passes
    assert max(errors(name, changed(solution(name), *IN_BFLOAT16[product]), cases, runner)) > fails


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(("name", "kept"), [(name, kept) for kept, (names, _, _) in KEPT.items() for name in names])
def test_a_state_in_16_bits_is_wrong_after_many_keys(name, kept, dtype, runner):
    _, line, more = KEPT[kept]
    line = f"        {line}\n"
    source = changed(solution(name), line, f"{line}        {more}\n")
    if name in LINEAR:
        assert min(errors(name, source, of_families(name, dtype, "many_small"), runner)) > 1.4
    else:
        assert max(errors(name, source, of_families(name, dtype, "spike"), runner)) > 1.3


@pytest.mark.parametrize("cast", ["tl.float16", "tl.bfloat16"])
def test_a_log_sum_exp_in_16_bits_is_wrong_where_nothing_else_is_rounded(cast, runner):
    name, old = "flash_attention_heads", "m_i + tl.log(l_safe)"
    source = changed(solution(name), f"{old}, mask", f"({old}).to({cast}), mask")
    equal = max(of_families(name, "bfloat16", "constant"), key=lambda case: case.sizes["N_KV"])
    for dtype in ("float32", "float16", "bfloat16"):
        assert max(errors(name, source, [replace(equal, dtype=dtype)], runner)) > 4


@pytest.mark.parametrize("name", ["flash_attention", "flash_attention_heads"])
def test_queries_that_are_scaled_and_rounded_pass(name, runner):
    assert max(errors(name, correct(name)["scale_on_the_queries"], cpu_cases(PUZZLES[name]), runner)) < 0.8


@pytest.mark.parametrize("puzzle", LADDER, ids=lambda puzzle: puzzle.name)
def test_the_solution_passes_drawn_cases_with_a_margin(puzzle, runner):
    verdict = judge(puzzle, solution(puzzle.name), runner, seed=2718281828)
    assert verdict.status == "passed", verdict.failure
    assert [warning for gate in verdict.gates for warning in gate.warnings] == []
    for seed in (1, 7, 116, 118):
        cases = [case for case in cases_of(puzzle, seed) if "cpu" in case.devices]
        assert max(errors(puzzle.name, solution(puzzle.name), cases, runner)) < 0.8
