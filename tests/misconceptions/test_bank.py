"""The bank of wrong kernels: each is caught by its gate and named, and nothing else is given one of their names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checker.course import LADDER, PUZZLES
from checker.course.families import reaching
from checker.course.forgetting import mixed, strong, uneven
from checker.live.in_process import InProcess
from checker.misconceptions import ROOT, SEVERAL_CASES, _all, bank, quick, refused
from checker.puzzle import CPU, Case
from checker.submission.rules import is_untouched, violations
from tests.judge.helpers import changed, cpu_cases, judge, solution, written
from tests.misconceptions.kernels import correct, problem


# One process judges a whole bank, because it remembers what each kernel did in a case. The banks that take longest come first.
@pytest.mark.timeout(3600)  # where few cases do not tell a mistake apart, all cases take their time
@pytest.mark.parametrize("puzzle", LADDER[::-1], ids=lambda puzzle: puzzle.name)
def test_wrong_kernels_are_caught_by_their_gate_and_named(puzzle, runner):
    problems = []
    for wrong in bank(puzzle.name):
        # few cases may leave two mistakes that behave alike: then more of them decide, and at last all, which takes long
        named = () if wrong.seen_in == SEVERAL_CASES else (quick(puzzle, [wrong.seen_in], smallest=2),)
        for cases in (*named, quick(puzzle), quick(puzzle, smallest=32), puzzle):
            complaint = problem(wrong, judge(cases, wrong.source, runner))
            if not complaint:
                break
        problems.append(complaint)
    assert list(filter(None, problems)) == []


def test_every_puzzle_has_wrong_kernels_within_the_rules():
    assert {path.stem for path in ROOT.glob("*.md")} == set(PUZZLES)
    for wrong in (wrong for puzzle in LADDER for wrong in (*bank(puzzle.name), *refused(puzzle.name))):
        for text in filter(None, (wrong.believed, wrong.instead, wrong.try_)):
            assert text.endswith((".", "?")), (wrong.puzzle, wrong.name)
            assert "`" not in text, (wrong.puzzle, wrong.name)
        assert not violations(wrong.source, PUZZLES[wrong.puzzle]), wrong.name
        assert not is_untouched(wrong.source), wrong.name
    for puzzle in LADDER:
        assert {"values", "memory"} <= {gate for wrong in bank(puzzle.name) for gate in wrong.gates}, puzzle.name


def test_only_the_compiler_stops_some_wrong_kernels(tmp_path):
    every = [(puzzle, wrong) for puzzle in LADDER for wrong in refused(puzzle.name)]
    assert len(every) >= 6
    for puzzle, wrong in every:
        few = quick(puzzle, [wrong.seen_in], smallest=2)
        # the front end cannot know how much shared memory a kernel needs
        late = wrong.name == "eight_stages"
        verdict = judge(few if late else puzzle, wrong.source, InProcess(tmp_path))
        assert (verdict.failure.gate, verdict.status) == ("compile", "compile_error"), wrong.name
        assert (verdict.cases_run > 0) == late, wrong.name
        assert judge(few, wrong.source, InProcess(tmp_path, compiles=False)).passed, wrong.name


def test_without_the_solutions_the_bank_is_empty(monkeypatch, tmp_path):
    monkeypatch.setattr("checker.misconceptions.SOLUTIONS", tmp_path / "solutions")
    assert _all.__wrapped__("vector_add") == ()


def test_an_unknown_mistake_gets_no_name(runner):
    puzzle = PUZZLES["row_softmax"]
    few = quick(puzzle, [case.name for case in cpu_cases(puzzle, "float32")])
    for old, new in (
        ("p / l_i", "2.0 * p / l_i"),
        ("p / l_i", "-(p / l_i)"),
        ("tl.exp(x - m_i)", "tl.exp(-(tl.where(mask, x, 0.0) - m_i))"),
        ("tl.exp(x - m_i)", "tl.sqrt(tl.exp(x - m_i))"),
        ("p / l_i", "p / l_i + 0.5"),
        ("mask = offs_n < N", "mask = (offs_n < N) & (offs_n > 0)"),
        ("m_i = tl.max(x, axis=0)", "m_i = tl.min(x, axis=0)"),
    ):
        verdict = judge(few, changed(solution("row_softmax"), old, new), runner)
        assert verdict.status == "failed", new
        assert verdict.diagnosis is not None
        assert verdict.diagnosis.misconception is None, new


def test_two_mistakes_in_one_kernel_are_both_named(runner):
    source = changed(solution("online_softmax"), 'tl.where(m_new == float("-inf"), 0.0, m_new)', "m_new")
    for old, new, name in (
        ("l_i * tl.exp(m_i - m_safe)", "l_i", "sum_not_rescaled"),
        ("l_i * tl.exp(m_i - m_safe)", "l_i * tl.exp2(m_i - m_safe)", "exp2_in_the_rescale"),
    ):
        diagnosis = judge(PUZZLES["online_softmax"], changed(source, old, new), runner).diagnosis
        assert (diagnosis.misconception, diagnosis.second.misconception) == (name, "inf_minus_inf")


def test_no_second_mistake_is_named_where_one_explains_everything(runner):
    """With few cases, several do: a second one that shows in none of them fits each."""
    wrong = next(wrong for wrong in bank("row_softmax") if wrong.name == "max_only_where_exp_overflows")
    diagnosis = judge(quick(PUZZLES["row_softmax"], [wrong.seen_in], smallest=2), wrong.source, runner).diagnosis
    assert (diagnosis.misconception, diagnosis.second) == (None, None)


def test_a_second_mistake_that_explains_nothing_more_is_not_named(runner, monkeypatch):
    """Its weights meet the mask before the product, so rounding differs a little in one more case; its state is float32."""
    puzzle = PUZZLES["decay_linear_attention_chunked"]
    monkeypatch.setattr("checker.judge.diagnosis.FAILING_CASES", 1)
    few = [c for c in cpu_cases(puzzle) if (c.family, c.dtype) in ((strong, "float32"), (mixed, "bfloat16"))]
    gap = 'gap = tl.where(offs_c[:, None] >= offs_c[None, :], b[:, None] - b[None, :], float("-inf"))'
    source = changed(solution(puzzle.name), gap, "gap = b[:, None] - b[None, :]")
    decay = "tl.exp(gap) * (offs_c[:, None] >= offs_c[None, :]).to(tl.float32)"
    source = changed(source, "tl.dot(q, tl.trans(k)) * tl.exp(gap)", f"tl.dot(q, tl.trans(k)) * ({decay})")
    diagnosis = judge(replace(puzzle, cases=tuple(few)), source, runner).diagnosis
    assert (diagnosis.misconception, diagnosis.second) == ("masked_by_multiplying", None)


def test_beside_an_unknown_mistake_the_one_that_ordinary_numbers_show_is_named(runner):
    source = changed(solution("online_softmax"), "tl.max(x, axis=0)", "tl.minimum(tl.max(x, axis=0), 1000.0)")
    source = changed(source, "l_i * tl.exp(m_i - m_safe)", "l_i")
    diagnosis = judge(PUZZLES["online_softmax"], source, runner).diagnosis
    assert diagnosis.misconception == "sum_not_rescaled"
    assert diagnosis.second is None
    assert "something else is wrong, too" in diagnosis.note


def test_the_diagnosis_points_at_the_learners_own_line(runner):
    source = written(
        "row_softmax",
        """
row = tl.program_id(0)
lanes = tl.arange(0, BLOCK_N)
ok = lanes < N
values = tl.load(x_ptr + row * stride_xm + lanes, mask=ok, other=0.0).to(tl.float32)
biggest = tl.max(values, axis=0)
e = tl.exp(values - biggest)
tl.store(y_ptr + row * stride_ym + lanes, e / tl.sum(e, axis=0), mask=ok)
""",
    )
    verdict = judge(PUZZLES["row_softmax"], source, runner)
    assert verdict.diagnosis is not None
    assert verdict.diagnosis.line is not None
    line = source.source.splitlines()[verdict.diagnosis.line - 1]
    assert "other=0.0" in line or "tl.sum" in line


@pytest.mark.parametrize(
    ("puzzle", "old", "named", "hiding"),
    [
        (
            "row_softmax",
            "offs_n, p / l_i, mask=mask)",
            "offs_n, p / l_i, mask=lanes)",
            "lanes = offs_n < BLOCK_N",
        ),
        (
            "flash_attention",
            "acc / l_i[:, None], mask=mask_m[:, None])",
            "acc / l_i[:, None], mask=rows[:, None])",
            "rows = offs_m < N_Q + BLOCK_M",
        ),
        (
            "flash_attention",
            "stride_vn + offs_d[None, :], mask=mask_n[:, None], other=0.0)",
            "stride_vn + offs_d[None, :], mask=keys[:, None], other=0.0)",
            "keys = offs_n < BLOCK_N",
        ),
    ],
)
def test_a_mask_that_hides_nothing_is_shown_and_not_the_access_that_takes_it(puzzle, old, named, hiding, runner):
    """The bank's kernel has no mask here. The learner's has one, in a line of its own."""
    right = solution(puzzle)
    access = next(line for line in right.source.splitlines() if old in line)
    indent = access[: len(access) - len(access.lstrip())]
    source = changed(right, access, f"{indent}{hiding}\n{access.replace(old, named)}")
    verdict = judge(quick(PUZZLES[puzzle], smallest=2), source, runner)
    assert source.source.splitlines()[verdict.diagnosis.line - 1].strip() == hiding


def test_no_store_is_called_unmasked_that_stays_inside(runner):
    """Its load masks out the last element. Its values are those of an unmasked store, but it stores nothing outside."""
    source = changed(solution("row_softmax"), "mask=mask, other=", "mask=offs_n < N - 1, other=")
    diagnosis = judge(quick(PUZZLES["row_softmax"]), source, runner).diagnosis
    assert "store_unmasked" not in (diagnosis.misconception, diagnosis.second and diagnosis.second.misconception)


def test_queries_may_be_rounded_after_scaling_whatever_the_seed(runner):
    puzzle = PUZZLES["flash_attention_heads"]
    tiny = [case for case in cpu_cases(puzzle, "float16") if case.flags.get("TINY_Q") and case.sizes["D"] == 64]
    seeded = tuple(replace(case, seed=seed) for case in tiny for seed in range(4))
    assert seeded
    verdict = judge(replace(puzzle, cases=seeded, huge=False), correct(puzzle.name)["scale_on_the_queries"], runner)
    assert verdict.failure is None, verdict.failure.message


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("delta_chunk_matrix", "* decay *", "* decay.to(tl.float16).to(tl.float32) *"),
        ("triangular_inverse", "u = tl.dot(t,", "u = tl.dot(t.to(tl.float16).to(tl.float32),"),
        ("delta_chunk_values", "u = tl.dot(t,", "u = tl.dot(t.to(tl.float16).to(tl.float32),"),
    ],
)
def test_what_float16_loses_below_its_normal_numbers_counts(name, old, new, runner):
    """As "What your kernel may assume" says: small numbers keep their bits, which rounding the float32 matrices to float16 costs them."""
    few = replace(PUZZLES[name], cases=tuple(case for case in cpu_cases(PUZZLES[name]) if case.family is uneven))
    failure = judge(few, changed(solution(name), old, new), runner, diagnose=False).failure
    assert failure is not None
    assert failure.gate == "values"


def test_a_mistake_is_diagnosed_in_a_case_that_float16_cannot_hold(runner):
    puzzle = PUZZLES["online_softmax"]
    beyond = reaching("utmost", "rows of numbers near 1e38 and -1e38", "utmost", lambda dtype: 1e38)
    case = Case({"M": 3, "N": 61}, {"BLOCK_N": 16}, family=beyond, devices=CPU)
    wrong = next(wrong for wrong in bank(puzzle.name) if wrong.name == "finite_stand_in_kept")
    assert judge(replace(puzzle, cases=(case,)), wrong.source, runner).status == "failed"
