"""Right kernels on drawn cases: what the tool sees of one that passes, and of one whose tolerance is too small."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checker.course import PUZZLES
from checker.puzzle import Tolerance
from tools import false_alarms


def test_a_right_kernel_is_not_refused() -> None:
    found = false_alarms.judged("linear_chunk_states", "solution", 1)
    assert not found.refused
    assert 0 < found.worst < 1
    assert false_alarms.table([found])[0].split()[:5] == ["linear_chunk_states", "1", "judged", "0", "refused"]


def test_a_tolerance_that_is_too_small_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    strict = replace(
        PUZZLES["vector_add"], tolerance=dict.fromkeys(("float32", "float16", "bfloat16"), Tolerance(rtol=1e-9, c=0.0))
    )
    monkeypatch.setitem(false_alarms.PUZZLES, "vector_add", strict)
    found = false_alarms.judged("vector_add", "solution", 1)
    assert found.refused == "values"
    assert found.worst > 1
    assert (
        f"solution refused by values: {found.worst:.2f} of what is allowed in {found.where}"
        in false_alarms.table([found])[1]
    )
    assert found.where.endswith("seed 1")
