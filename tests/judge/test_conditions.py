"""What no case reached in a right kernel: it is said, and it costs nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from checker.course import PUZZLES
from checker.judge.conditions import EXEMPTIONS, unreached
from checker.judge.result import result_of
from checker.judge.verdict import Unreached
from checker.puzzle import Launch
from checker.simulator import simulate
from checker.simulator.trace import Condition
from checker.submission.kernel import KernelSource, Piece
from checker.submission.load import load_kernel
from tests.judge.helpers import changed, judge, solution
from tests.simulator.launching import HEAD, nans

SOFTMAX = PUZZLES["row_softmax"]


def line_of(source: KernelSource, text: str) -> int:
    return next(i for i, line in enumerate(source.source.splitlines(), 1) if text in line)


@pytest.mark.parametrize(
    ("puzzle", "old", "new", "condition", "never"),
    [
        (
            "row_softmax",
            "p = tl.exp(x - m_i)\n",
            "p = tl.exp(x - m_i)\n    if stride_xm == 123457:\n        p = p * 2\n",
            "stride_xm == 123457",
            "was never true",
        ),
        (
            "row_softmax",
            "l_i = tl.sum(p, axis=0)",
            "l_i = tl.minimum(tl.sum(p, axis=0), 1e6)",
            "tl.minimum(tl.sum(p, axis=0), 1e6)",
            "was never `1e6`",
        ),
        (
            "vector_add",
            "+ tl.arange(0, BLOCK_N)",
            "+ tl.arange(0, BLOCK_N).to(tl.int16)",
            "tl.arange(0, BLOCK_N).to(tl.int16)",
            "never changed a value",
        ),
        (
            "vector_add",
            "mask = offs_n < N",
            "mask = (offs_n < N) & (offs_n > -5)",
            "offs_n > -5",
            "was never false",
        ),
    ],
)
def test_a_special_case_that_no_case_reaches_is_marked(
    puzzle: str, old: str, new: str, condition: str, never: str, runner: Any
) -> None:
    source = changed(solution(puzzle), old, new)
    verdict = judge(PUZZLES[puzzle], source, runner)
    assert verdict.unreached == (Unreached(line_of(source, condition), condition, never),)
    assert (verdict.status, verdict.score) == ("passed", verdict.max_score)
    (record,) = result_of(verdict).unreached
    assert (record.line, record.condition) == (line_of(source, condition), f"`{condition}` {never}")


def test_a_condition_that_cases_reach_is_not_marked(runner: Any) -> None:
    source = changed(
        solution("row_softmax"), "p = tl.exp(x - m_i)", "p = tl.where(x > m_i - 1, tl.exp(x - m_i), tl.exp(x - m_i))"
    )
    assert judge(SOFTMAX, source, runner).unreached == ()


def test_a_kernel_that_fails_is_not_marked(runner: Any) -> None:
    text = "p = tl.exp(x - m_i)\n    if stride_xm == 123457:\n        p = p * 2\n    p = p * 1.5\n    p = p + 1\n"
    verdict = judge(SOFTMAX, changed(solution("row_softmax"), "p = tl.exp(x - m_i)\n", text), runner, diagnose=False)
    assert (verdict.status, verdict.unreached) == ("failed", ())


def test_lines_are_counted_as_in_the_learners_own_file(runner: Any) -> None:
    source = changed(
        solution("row_softmax"),
        "p = tl.exp(x - m_i)\n",
        "p = tl.exp(x - m_i)\n    if N == 999_999:\n        p = p * 2\n",
    )
    (here,) = judge(SOFTMAX, source, runner).unreached
    in_a_cell = replace(source, pieces=(Piece(1, source.source.count("\n"), "In[7]", 101),))
    (there,) = judge(SOFTMAX, in_a_cell, runner).unreached
    assert there.line == here.line + 100


def test_a_thorough_check_tries_what_no_case_reached(runner: Any) -> None:
    half = "p = tl.exp(x - m_i)\n    if {}:\n        p = tl.where(offs_n == 1, 2 * p, p)\n"
    harmless = "p = tl.exp(x - m_i)\n    if {}:\n        p = 2 * p\n"
    for condition in ("stride_xm == 77", "row > 300"):
        wrong = changed(solution("row_softmax"), "p = tl.exp(x - m_i)\n", half.format(condition))
        assert judge(SOFTMAX, wrong, runner).passed
        verdict = judge(SOFTMAX, wrong, runner, thorough=True)
        assert (verdict.failure.gate, verdict.unreached) == ("values", ()), condition
        right = changed(solution("row_softmax"), "p = tl.exp(x - m_i)\n", harmless.format(condition))
        verdict = judge(SOFTMAX, right, runner, thorough=True)
        (tried,) = verdict.unreached
        assert verdict.passed
        assert 0 < tried.reached < tried.aimed, condition
        assert result_of(verdict).unreached == ()


def test_a_condition_that_the_domain_rules_out_stays_marked(runner: Any) -> None:
    source = changed(
        solution("row_softmax"), "p = tl.exp(x - m_i)\n", "p = tl.exp(x - m_i)\n    if N < -5:\n        p = 2 * p\n"
    )
    verdict = judge(SOFTMAX, source, runner, thorough=True)
    assert verdict.passed
    assert [one.reached for one in verdict.unreached] == [0]
    assert len(result_of(verdict).unreached) == 1


# ----------------------------------------------------------------------------------------------------------- exemptions


def marks(
    folder: Any, *statements: str, constant: str = "", puzzle: str = "row_softmax", first: float = 1.0
) -> list[str]:
    """What is marked in a kernel of these statements, on a tile of the numbers from 1 to 16, with another `first`."""
    lines = "".join(f"    {line}\n" for line in (*statements, "tl.store(y_ptr + offs, y)"))
    given = "    offs = tl.arange(0, 16)\n    x = tl.load(x_ptr + offs)\n    y = x\n"
    parameters = "x_ptr, y_ptr, stride, N, D: tl.constexpr"
    text = f"{HEAD}{constant}\n\n@triton.jit\ndef kernel({parameters}):\n{given}{lines}"
    source = KernelSource("", "kernel", text, ())
    x = torch.tensor([first, *range(2, 17)])
    arguments = {"x_ptr": x, "y_ptr": nans(16), "stride": 16, "N": 16}
    trace = simulate(load_kernel(source, folder), Launch((1,), arguments, {"D": 16}, ("y_ptr",)))
    return [one.words for one in unreached(PUZZLES[puzzle], source, [trace])]


@pytest.mark.parametrize(
    ("exemption", "exempt", "marked"),
    [
        ("bounds", ["y = x + tl.minimum(N, N + N)"], ["y = x + tl.minimum(stride, stride + N)"]),
        ("bounds", ["n = N + N", "y = x + tl.maximum(n, 1)"], ["n = N + N", "y = x + tl.maximum(n, 9)"]),
        ("bounds", ["y = x + tl.minimum(N, N + N)"], ["y = x + tl.minimum(N, 99)"]),
        ("bounds", ["y = x + tl.minimum(N, N + N)"], ["y = tl.minimum(x, 99.0)"]),
        ("signs", ["y = tl.where(offs >= 0, x, 0.0)"], ["y = tl.where(offs > -1, x, 0.0)"]),
        ("signs", ["if N > 0:", "    y = x + 1"], ["if stride > 0:", "    y = x + 1"]),
        ("signs", ["if 0 < N:", "    y = x + 1"], ["if N != 0:", "    y = x + 1"]),
        ("whole axis", ["y = tl.where(tl.arange(0, D) < D, x, 0.0)"], ["y = tl.where(tl.arange(0, D) < N, x, 0.0)"]),
        (
            "whole axis",
            ["o = tl.arange(0, D)", "y = tl.where(o.to(tl.int64) < D, x, 0.0)"],
            ["y = tl.where(x < 99, x, 0.0)"],
        ),
        ("masked", ["y = tl.where(x == float('-inf'), 0.0, x)"], ["y = tl.where(x == float('inf'), 0.0, x)"]),
        (
            "masked",
            ["none = x == NOTHING", "y = tl.where(none, 0.0, x)"],
            ["none = x == 99", "y = tl.where(none, 0.0, x)"],
        ),
        ("lowest", ["y = tl.maximum(x, -3.4028234e38)"], ["y = tl.maximum(x, -1000.0)"]),
        ("lowest", ["y = tl.where(x > -3.4e38, x, 0.0)"], ["y = tl.where(x > -1000.0, x, 0.0)"]),
        ("exponents", ["y = tl.minimum(-x, 0.0)"], ["y = tl.minimum(-x, 5.0)"]),
        ("exponents", ["y = tl.clamp(-x, -9.0, 0.0)"], ["y = tl.maximum(x, 0.0)"]),
        ("divisors", ["y = x / tl.where(x > 0.0, x, 1.0)"], ["y = tl.where(x > 0.0, x, 1.0)"]),
        (
            "divisors",
            ["l = x * 2", "y = tl.where(l[None, :] == 0, 0.0, 1.0 / l[None, :])", "y = tl.sum(y, axis=0)"],
            ["l = x * 2", "y = tl.where(l < 1.0, 0.0, 1.0 / l)"],
        ),
        (
            "divisors",
            ["l = x * 2", "safe = tl.where(l > 0, l, 1.0)", "l = safe", "y = tl.log(l)"],
            ["l = x * 2", "y = tl.where(l > 0, 1.0, 0.5) / x"],
        ),
        ("loops", ["n = 16", "while n < 16:", "    n += 1"], ["n = 16", "if n < 16:", "    n += 1"]),
    ],
)
def test_each_exemption_spares_what_it_is_for_and_nothing_else(
    exemption: str, exempt: list[str], marked: list[str], tmp_path: Any
) -> None:
    assert exemption in {one.name for one in EXEMPTIONS}
    constant = 'NOTHING = tl.constexpr(float("-inf"))\n'
    assert marks(tmp_path, *exempt, constant=constant) == []
    assert len(marks(tmp_path, *marked, constant=constant)) == 1


def test_a_bound_that_only_an_infinite_input_meets_is_reached(tmp_path: Any) -> None:
    infinite = -float("inf")
    for statement in (
        "y = tl.maximum(x, -100.0)",
        "y = tl.where(x < -100.0, -100.0, x)",
        "y = tl.clamp(x, -100.0, 5.0)",
    ):
        assert len(marks(tmp_path, statement)) == 1
        assert marks(tmp_path, statement, first=infinite) == [], statement


def test_an_infinity_that_the_kernel_puts_past_the_end_reaches_nothing(tmp_path: Any) -> None:
    for filled in (
        "x = tl.load(x_ptr + offs, mask=offs < 9, other=-float('inf'))",
        "x = tl.where(offs < 9, x, NOTHING)",
    ):
        for before in ([filled], ["m = tl.full([16], NOTHING, tl.float32)", filled, "x = tl.maximum(x, m)"]):
            statements = [*before, "y = tl.maximum(x, -100.0)"]
            found = marks(tmp_path, *statements, constant='NOTHING = tl.constexpr(float("-inf"))\n')
            assert "`tl.maximum(x, -100.0)` was never `-100.0`" in found, before


def test_a_floor_of_minus_1e30_stands_for_infinity_where_no_input_holds_infinity(tmp_path: Any) -> None:
    assert marks(tmp_path, "y = tl.maximum(x, -1e30)", puzzle="flash_attention") == []
    assert marks(tmp_path, "y = tl.maximum(x, -1e30)") == ["`tl.maximum(x, -1e30)` was never `-1e30`"]
    assert len(marks(tmp_path, "y = tl.maximum(x, -1e20)", puzzle="flash_attention")) == 1


@pytest.mark.parametrize(
    "statements",
    [
        ["tl.assume(N > 5)", "tl.static_assert(D == 16)"],
        ["y = x + offs.to(tl.int64).to(tl.int32)", "y = y.to(tl.float32)"],
        ["for i in range(0, N, 16):", "    y += 1"],
    ],
)
def test_promises_wide_casts_and_loops_are_never_marked(statements: list[str], tmp_path: Any) -> None:
    assert marks(tmp_path, *statements) == []


def test_of_conditions_inside_one_another_the_innermost_is_marked(tmp_path: Any) -> None:
    assert marks(tmp_path, "never = (x > 99) & (offs < 5)", "y = tl.where(never, 0.0, x)") == [
        "`x > 99` was never true"
    ]
    assert marks(tmp_path, "if N == 7 or stride == 7:", "    y = x + 1") == [
        "`N == 7` was never true",
        "`stride == 7` was never true",
    ]
    assert marks(tmp_path, "y = tl.where((x > 8) & (x < 5), 0.0, x)") == ["`(x > 8) & (x < 5)` was never true"]


def test_what_is_not_in_the_text_is_ignored(tmp_path: Any) -> None:
    source = solution("row_softmax")
    forged = [
        Condition("test", "row_softmax_kernel", 3, 1, 3, 9, True),
        Condition("arm", "row_softmax_kernel", 27, 4, 27, 8, False, True),
        Condition("test", "<script>", 1 << 40, 1, 1, 1, True),
    ]
    launch = Launch(
        (1,),
        {"x_ptr": torch.ones(1, 4), "y_ptr": nans(1, 4), "stride_xm": 4, "stride_ym": 4, "N": 4},
        {"BLOCK_N": 4},
        ("y_ptr",),
    )
    trace = simulate(load_kernel(source, tmp_path), launch)
    trace.conditions = tuple(forged)
    assert unreached(SOFTMAX, source, [trace, None]) == ()
