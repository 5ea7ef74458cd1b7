"""What attention's tolerances let pass and what not: TF32 passes, operands in bfloat16 fail, and so does a state in 16 bits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checker.course import PUZZLES
from checker.judge.launches import cases_of, prepare_all
from checker.judge.outcome import simulate_cases
from checker.puzzle import Case
from checker.submission.kernel import KernelSource
from tests.judge.helpers import changed, solution
from tests.misconceptions.kernels import correct

RUNGS = ("flash_attention", "flash_attention_v1", "flash_attention_heads")
IN_BFLOAT16 = {
    "scores": ("tl.dot(q, tl.trans(k))", "tl.dot(q.to(tl.bfloat16), tl.trans(k.to(tl.bfloat16)))"),
    "values": ("tl.dot(p.to(v.dtype), v,", "tl.dot(p.to(tl.bfloat16), v.to(tl.bfloat16),"),
    "weights": ("tl.dot(p.to(v.dtype), v,", "tl.dot(p.to(tl.bfloat16).to(v.dtype), v,"),
}
STATE = "        m_i = m_new\n"
KEPT = {"sum": "l_i = l_i.to(q.dtype).to(tl.float32)", "accumulator": "acc = acc.to(q.dtype).to(tl.float32)"}


def on_cpu(name: str, dtype: str, family: str = "") -> list[Case]:
    cases = [case for case in PUZZLES[name].cases if "cpu" in case.devices and case.dtype == dtype]
    return [case for case in cases if not family or case.family == family]


def worst(name: str, source: KernelSource, cases: list[Case], runner) -> float:
    """The largest error in all of these cases, in terms of what is allowed."""
    prepared = prepare_all(PUZZLES[name], [(case, None) for case in cases])
    outcomes = simulate_cases(PUZZLES[name], source, runner, prepared)
    return max(outcome.comparison.worst for outcome in outcomes if outcome.comparison is not None)


@pytest.mark.parametrize("operands", IN_BFLOAT16)
@pytest.mark.parametrize("name", RUNGS)
def test_operands_in_bfloat16_fail_in_float32_where_tf32_passes(name, operands, runner):
    cases = on_cpu(name, "float32", "score_pairs_in_sight") + on_cpu(name, "float32", "normal")
    assert worst(name, solution(name), cases, runner) < 0.5
    assert worst(name, changed(solution(name), *IN_BFLOAT16[operands]), cases, runner) > 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("name", ["flash_attention", "flash_attention_heads"])
def test_a_state_in_16_bits_is_wrong_after_many_keys(name, kept, dtype, runner):
    source = changed(solution(name), STATE, f"{STATE}        {KEPT[kept]}\n")
    assert worst(name, source, on_cpu(name, dtype, "spike"), runner) > 1.3


@pytest.mark.parametrize("cast", ["tl.float16", "tl.bfloat16"])
def test_a_log_sum_exp_in_16_bits_is_wrong_where_nothing_else_is_rounded(cast, runner):
    name, old = "flash_attention_heads", "m_i + tl.log(l_safe)"
    source = changed(solution(name), f"{old}, mask", f"({old}).to({cast}), mask")
    for dtype in ("float32", "float16", "bfloat16"):
        assert worst(name, source, on_cpu(name, dtype, "constant"), runner) > 4


@pytest.mark.parametrize("name", ["flash_attention", "flash_attention_heads"])
def test_queries_that_are_scaled_and_rounded_pass(name, runner):
    source = correct(name)["scale_on_the_queries"]
    assert max(worst(name, source, on_cpu(name, dtype), runner) for dtype in ("float32", "float16", "bfloat16")) < 0.8


@pytest.mark.parametrize("name", RUNGS)
def test_other_numbers_from_a_seed_keep_the_margin_too(name, runner):
    cases = [replace(c, name=f"{i}: {c.name}") for i, c in enumerate(cases_of(PUZZLES[name], 7)) if "cpu" in c.devices]
    assert worst(name, solution(name), cases, runner) < 0.75
