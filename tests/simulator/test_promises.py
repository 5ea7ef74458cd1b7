"""Promises to the compiler: true ones pass unnoticed, false ones are found with their line."""

from __future__ import annotations

import torch

from checker.course import PUZZLES
from checker.live.in_process import InProcess
from checker.puzzle import Launch
from checker.simulator import simulate
from tests.judge.helpers import changed, judge, solution
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
    "tl.multiple_of(N, 8)": (8, (12,), ()),
    "tl.multiple_of(offs + 1, 16)": (16, (1,), ()),
    "tl.multiple_of(offs * 4, 8)": (8, (4,), ()),
    "tl.multiple_of(x_ptr + 1, 16)": (16, (4,), ()),  # a byte of its tensor
    "tl.max_contiguous(offs % 12, 16)": (16, (11, 0), ((12,),)),
    "tl.max_contiguous(offs * 2, 2)": (2, (0, 2), ((1,),)),
    "tl.max_constancy(offs, 4)": (4, (0, 1), ((1,),)),
    "tl.assume(N == 16)": (0, (), ()),
}


def found(folder, statement):
    kernel = kernel_of(folder, "N = tl.num_programs(0) * 12", statement)
    trace = simulate(kernel, Launch((1,), {"x_ptr": torch.zeros(16), "y_ptr": torch.zeros(16)}, {}, ()))
    return kernel, trace.findings


def test_a_true_promise_is_no_finding(tmp_path):
    for statement in TRUE:
        assert found(tmp_path, statement)[1] == [], statement


def test_a_false_promise_is_found_on_its_line(tmp_path):
    for statement, expected in FALSE.items():
        kernel, (finding,) = found(tmp_path, statement)
        assert (finding.kind, finding.line) == ("false_promise", line_of(kernel, statement))
        assert (finding.promised, finding.values, finding.elements) == expected, statement
        assert finding.operation == statement.partition("(")[0]
        assert finding.tensor == ("x_ptr" if "x_ptr" in statement else None)


def test_a_promise_that_some_case_breaks_fails_the_memory_gate(tmp_path):
    text = "row = tl.program_id(0).to(tl.int64)"
    source = changed(solution("row_softmax"), text, f"{text}\n    stride_xm = tl.multiple_of(stride_xm, 16)")
    verdict = judge(PUZZLES["row_softmax"], source, InProcess(tmp_path, compiles=False))
    assert verdict.failure.gate == "memory"
    assert "tl.multiple_of(…, 16)" in verdict.failure.message
    assert "misaligned address" in verdict.failure.message
    assert verdict.source.split("\n")[verdict.failure.line - verdict.first_line].strip().startswith("stride_xm")
