"""Promises to the compiler: true ones pass unnoticed, false ones are found with their line."""

from __future__ import annotations

import pytest
import torch

from checker.course import PUZZLES
from checker.puzzle import Launch
from checker.simulator import simulate
from tests.judge.helpers import changed, judge, solution
from tests.judge.local_runner import LocalRunner
from tests.simulator.launching import kernel_of, line_of

TRUE = [
    "tl.multiple_of(N, 4)",
    "tl.multiple_of(offs, 16)",
    "tl.multiple_of(offs + 32, 16)",
    "tl.multiple_of(offs * 8, 8)",
    "tl.multiple_of(offs % 8, 8)",
    "tl.multiple_of(x_ptr, 16)",
    "tl.multiple_of(x_ptr + offs, 16)",
    "tl.max_contiguous(offs, 16)",
    "tl.max_contiguous(offs % 8, 8)",
    "tl.max_contiguous(x_ptr + offs, 16)",
    "tl.max_constancy(offs // 4, 4)",
    "tl.max_contiguous(offs[:, None] + offs[None, :], [1, 16])",
    "tl.assume(N > 0)",
]
FALSE = {
    "tl.multiple_of(N, 8)": "12 is no multiple of 8",
    "tl.multiple_of(offs + 1, 16)": "1 is no multiple of 16",
    "tl.multiple_of(offs * 4, 8)": "4 is no multiple of 8",
    "tl.multiple_of(x_ptr + 1, 16)": "byte 4 of its tensor",
    "tl.max_contiguous(offs % 12, 16)": "lane 12 is 0, which is not one more than 11",
    "tl.max_contiguous(offs * 2, 2)": "lane 1 is 2",
    "tl.max_constancy(offs, 4)": "lane 1 is 1, which is not the same as 0",
    "tl.assume(N == 16)": "the condition is false",
}


def found(folder, statement):
    kernel = kernel_of(folder, "N = tl.num_programs(0) * 12", statement)
    trace = simulate(kernel, Launch((1,), {"x_ptr": torch.zeros(16), "y_ptr": torch.zeros(16)}, {}, ()))
    return kernel, trace.findings


@pytest.mark.parametrize("statement", TRUE)
def test_a_true_promise_is_no_finding(statement, tmp_path):
    assert found(tmp_path, statement)[1] == []


@pytest.mark.parametrize(("statement", "words"), FALSE.items(), ids=list(FALSE))
def test_a_false_promise_is_told_with_its_line(statement, words, tmp_path):
    kernel, (finding,) = found(tmp_path, statement)
    assert finding.kind == "false_promise"
    assert words in finding.message
    assert finding.line == line_of(kernel, statement)


def test_a_promise_that_some_case_breaks_fails_the_memory_gate(tmp_path):
    text = "row = tl.program_id(0).to(tl.int64)"
    source = changed(solution("row_softmax"), text, f"{text}\n    stride_xm = tl.multiple_of(stride_xm, 16)")
    verdict = judge(PUZZLES["row_softmax"], source, LocalRunner(tmp_path, compiles=False))
    assert verdict.failure.gate == "memory"
    assert "tl.multiple_of(…, 16)" in verdict.failure.message
    assert "misaligned address" in verdict.failure.message
    assert verdict.source.split("\n")[verdict.failure.line - verdict.first_line].strip().startswith("stride_xm")
