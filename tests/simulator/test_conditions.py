"""Which way the conditions of a kernel went: what is recorded where, and what does not count."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from checker.puzzle import Launch
from checker.simulator import Trace, simulate
from checker.simulator.trace import Condition
from checker.simulator.triton_internals import source_of
from tests.simulator.launching import kernel_of, nans

INF = float("inf")


def by_text(kernel: Any, trace: Trace) -> dict[str, Condition]:
    """The conditions of a trace by their text, which is within a line."""
    lines, first = source_of(kernel)
    return {lines[one.line - first][one.column : one.end_column]: one for one in trace.conditions}


def of_statements(folder: Path, x: Sequence[float], *statements: str) -> dict[str, Condition]:
    """What the conditions of these statements came to, on a tile of 16 elements that begins with `x`."""
    kernel = kernel_of(folder, *statements)
    tile = torch.tensor([*x, *[x[-1]] * (16 - len(x))], dtype=torch.float32)
    launch = Launch((1,), {"x_ptr": tile, "y_ptr": nans(16)}, {}, ("y_ptr",))
    return by_text(kernel, simulate(kernel, launch))


def ways(condition: Condition) -> str:
    return "".join(way for way, went in (("T", condition.true), ("F", condition.false)) if went)


STORE = "tl.store(y_ptr + offs, y)"


@pytest.mark.parametrize(
    ("x", "expression", "expected"),
    [
        ([1, 2], "tl.where(x > 1, x, 0.0)", {"x > 1": "TF"}),
        ([1, 2], "tl.where(x > 2, x, 0.0)", {"x > 2": "F"}),
        ([1, 2], "tl.where((x > 1) & (x < 3), x, 0.0)", {"x > 1": "TF", "x < 3": "T", "(x > 1) & (x < 3)": "TF"}),
        ([1, 2], "tl.where((x > 0) & (x > 1) & (x > 2), x, 0.0)", {"x > 0": "T", "x > 1": "TF", "x > 2": "F"}),
        ([1, 2], "tl.where((x > 1)[:], x, 0.0)", {"x > 1": "TF"}),
        ([1, 2], "tl.where(~(x > 1), x, 0.0)", {"x > 1": "TF"}),
        ([1, 2], "x + (offs & 1)", {}),
        ([1, 2], "x if 2 > 1 else x + 1", {"2 > 1": "T"}),
        ([1, 2], "x + 1 if offs.shape[0] > 15 and SCALE == 2 else x", {"SCALE == 2": "F", "offs.shape[0] > 15": "T"}),
        ([1, 2], "tl.minimum(x, 5.0)", {"x": "T", "5.0": "F"}),
        ([1, 2], "tl.maximum(x, 1.5)", {"x": "TF", "1.5": "TF"}),
        ([1, 9], "tl.clamp(x, 0.0, 5.0)", {"x": "TF", "0.0": "F", "5.0": "TF"}),
        ([1, 300], "x.to(tl.int8).to(tl.float32)", {"x.to(tl.int8)": "TF"}),
        ([1, 2], "tl.cast(x, tl.uint32).to(tl.float32)", {"tl.cast(x, tl.uint32)": "F"}),
        ([1, 2], "offs.to(tl.int64).to(tl.int32).to(tl.float32)", {}),
        ([1, 2], "x.to(tl.int32).to(tl.int16).to(tl.int8)", {"x.to(tl.int32).to(tl.int16)": "F"}),
    ],
)
def test_every_kind_of_condition_is_recorded(
    tmp_path: Path, x: list[float], expression: str, expected: dict[str, str]
) -> None:
    found = of_statements(tmp_path, x, f"y = {expression}", STORE)
    assert {text: ways(found[text]) for text in expected} == expected
    if not expected:
        assert not found


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        (["if tl.max(x, 0) > 5:", "    y = x", "else:", "    y = x + 1"], {"tl.max(x, 0) > 5": "F"}),
        (["y = x", "n = 0", "while n < 3:", "    n += 1"], {"n < 3": "TF"}),
        (["y = x", "flag = offs.shape[0] == 16", "if flag:", "    y = x"], {"flag": "T", "offs.shape[0] == 16": "T"}),
        (["y = x", "if not SCALE:", "    y = x"], {"SCALE": "T"}),
        (["y = x", "tl.static_assert(SCALE == 3)", "tl.assume(tl.max(x, 0) < 9)", "assert SCALE == 3"], {}),
        (["y = tl.softmax(x) + tl.cdiv(7, 2)"], {}),
    ],
)
def test_tests_are_conditions_and_promises_are_not(
    tmp_path: Path, statements: list[str], expected: dict[str, str]
) -> None:
    found = of_statements(tmp_path, [1, 2], *statements, STORE)
    assert {text: ways(one) for text, one in found.items()} == expected


@pytest.mark.parametrize(
    ("x", "condition", "expected"),
    [
        ([1, -INF], "x > 0", "T"),  # lanes past the end
        ([1, 2], "x > float('-inf')", "T"),
        ([1, -INF], "x > float('-inf')", "TF"),
        ([-INF], "x > 0", ""),
        ([1, 2], "x != x", "F"),
        ([1, float("nan")], "x != x", "TF"),
    ],
)
def test_of_floats_only_finite_lanes_count_except_beside_infinity(
    tmp_path: Path, x: list[float], condition: str, expected: str
) -> None:
    found = of_statements(tmp_path, x, f"y = tl.where({condition}, x, 0.0)", STORE)
    assert ways(found[condition]) == expected


def test_integers_are_told_apart(tmp_path: Path) -> None:
    found = of_statements(tmp_path, [1, 2], "y = tl.where(offs < 5, x, tl.minimum(x, 3.0))", STORE)
    assert (found["offs < 5"].whole, found["3.0"].whole) == (True, False)
