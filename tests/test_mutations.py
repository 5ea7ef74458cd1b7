"""The mechanical mutants: valid Python, all different, one change each, the same every time."""

from __future__ import annotations

import ast

import pytest

from checker.course import PUZZLES
from tools import mutate
from tools.mutations import mutations

KERNEL = '''import triton
import triton.language as tl


@triton.jit
def small_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    """Says what it does."""
    row = tl.program_id(0).to(tl.int64)
    m_i = float("-inf")
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        mask = (offs_n < N) & (row < N)
        m_i = tl.maximum(m_i, tl.max(tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=0.0), axis=0))
    m_i += 1.0
    tl.store(y_ptr + row * stride_ym, m_i)
'''
MADE = mutations(KERNEL, "small", "small_kernel")


def test_the_same_every_time():
    assert mutations(KERNEL, "small", "small_kernel") == MADE


def test_all_are_different_and_none_is_the_kernel():
    codes = [ast.dump(ast.parse(m.source)) for m in MADE]
    assert len(set(codes)) == len(codes)
    assert ast.dump(ast.parse(KERNEL)) not in codes
    assert len({m.key for m in MADE}) == len(MADE)


@pytest.mark.parametrize("mutation", MADE, ids=lambda m: m.after[:60])
def test_one_line_changes_and_the_docstring_stays(mutation):
    before, after = KERNEL.splitlines(), mutation.source.splitlines()
    assert len(before) == len(after)
    changed = [number for number, (a, b) in enumerate(zip(before, after, strict=True), 1) if a != b]
    assert mutation.line in changed
    whole_loop = mutation.kind == "line dropped" and mutation.before.startswith("for")
    assert len(changed) <= (5 if whole_loop else 2 if mutation.kind == "lines swapped" else 1)
    assert '"""Says what it does."""' in mutation.source


@pytest.mark.parametrize(
    "after",
    [
        "(dropped)",
        "row = tl.program_id(0)",
        "row = tl.program_id(1).to(tl.int64)",
        "m_i = 0.0",
        'm_i = float("inf")',
        "for start_n in range(BLOCK_N, N, BLOCK_N):",
        "for start_n in range(0, N - BLOCK_N, BLOCK_N):",
        "for start_n in range(0, N, BLOCK_N // 2):",
        "offs_n = start_n - tl.arange(0, BLOCK_N)",
        "offs_n = tl.arange(0, BLOCK_N)",
        "mask = offs_n < N",
        "mask = (offs_n < N) | (row < N)",
        "mask = (offs_n <= N) & (row < N)",
        "mask = (offs_n < BLOCK_N) & (row < N)",
        "m_i = tl.minimum(m_i, tl.max(tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=0.0), axis=0))",
        "m_i = tl.maximum(m_i, tl.min(tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=0.0), axis=0))",
        "m_i = tl.maximum(m_i, tl.max(tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=0.0), axis=1))",
        "m_i = tl.maximum(m_i, tl.max(tl.load(x_ptr + row * stride_xm + offs_n, mask=mask), axis=0))",
        "m_i = tl.maximum(m_i, tl.max(tl.load(x_ptr + row * stride_xm + offs_n, other=0.0), axis=0))",
        "m_i = tl.maximum(m_i, tl.max(tl.load(x_ptr + row * stride_ym + offs_n, mask=mask, other=0.0), axis=0))",
        "m_i = tl.maximum(m_i, tl.max(tl.load(x_ptr + row * N + offs_n, mask=mask, other=0.0), axis=0))",
        "m_i -= 1.0",
        "tl.store(m_i, y_ptr + row * stride_ym)",
        "tl.store(x_ptr + row * stride_ym, m_i)",
    ],
)
def test_the_slip_is_among_them(after):
    assert after in [m.after for m in MADE]


def test_only_a_dropped_int64_cannot_be_confirmed():
    assert [m.after for m in MADE if not m.confirmable] == ["row = tl.program_id(0)"]


def test_statements_that_read_the_same_are_told_apart():
    twice = KERNEL.replace("    m_i += 1.0\n", "    m_i += 1.0\n    m_i += 1.0\n")
    keys = [m.key for m in mutations(twice, "small", "small_kernel")]
    assert "small: m_i += 1.0 → m_i -= 1.0" in keys
    assert "small: m_i += 1.0 (2) → m_i -= 1.0" in keys


@pytest.mark.parametrize("puzzle", mutate.SWEPT, ids=lambda p: p.name)
def test_extra_cases_are_ones_the_puzzle_knows(puzzle):
    cases = mutate.extra_cases(puzzle)
    assert mutate.extra_cases(puzzle) == cases
    assert len({case.name for case in cases}) == len(cases) == mutate.EXTRA
    own = PUZZLES[puzzle.name].cases[0]
    for case in cases:
        assert case.meta.keys() == own.meta.keys()
        assert case.dtype in puzzle.tolerance
        assert puzzle.reference(case, {k: v.double() for k, v in puzzle.make(case).items()}).keys() == set(
            puzzle.outputs
        )


ADD = {m.after: m for m in mutate.generated(PUZZLES["vector_add"])}


@pytest.mark.parametrize(
    ("after", "outcome", "by"),
    [
        ("mask = offs_n <= N", "killed", "memory"),
        ("tl.store(z_ptr + offs_n, x - y, mask=mask)", "killed", "values"),
        ("tl.store(x + y, z_ptr + offs_n, mask=mask)", "killed", "compile"),
        ("x = tl.load(x_ptr + offs_n, mask=mask, other=1.0)", "equivalent", ""),
        ("x = tl.load(x_ptr + offs_n, mask=mask)", "equivalent", ""),
    ],
)
def test_mutants_of_vector_add_whose_fate_is_plain(after, outcome, by):
    fate = mutate.judge(ADD[after])
    assert (fate.outcome, fate.by) == (outcome, by)
