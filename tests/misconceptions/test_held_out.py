"""Wrong kernels that are in nobody's bank are not given a name that is not theirs; `tools/diagnoses.py` counts more of them."""

from __future__ import annotations

import pytest

from checker.course import PUZZLES
from tools.diagnoses import Bench, count, held_out

ROW = PUZZLES["row_softmax"]
ONCE_NAMED_FALSELY = {
    "row_softmax: m_i = tl.max(x, axis=0) → m_i = tl.min(x, axis=0)": "NaN was left out wherever lanes were undefined",
    "columns_for_rows + divides_by_max": "NaN was left out wherever an address was out of bounds",
    "n_for_the_stride if y_ptr.dtype.element_ty == tl.float32": "every padded case is float32",
    "sum_in_sixteen_bits if tl.program_id(0) > 0": "a small error looked like another small error",
}


def test_the_same_kernels_are_held_out_every_time():
    keys = [[(kernel.kind, kernel.key) for kernel in held_out(ROW, 5)] for _ in range(2)]
    assert keys[0] == keys[1]
    assert {kind for kind, _ in keys[0]} == {"mutant", "join", "guarded"}


@pytest.mark.exhaustive
@pytest.mark.parametrize("puzzle", ["vector_add", "row_softmax"])
def test_none_of_a_sample_is_named_falsely(puzzle):
    counts = count(PUZZLES[puzzle], each=4)
    assert counts["failed"] > 5
    assert counts["falsely"] == 0


@pytest.fixture(scope="module")
def bench():
    return Bench(ROW)


@pytest.fixture(scope="module")
def kernels():
    return {kernel.key: kernel.source for kernel in held_out(ROW, 10_000)}


@pytest.mark.parametrize("key", ONCE_NAMED_FALSELY)
def test_what_was_once_named_falsely_has_no_name(key, bench, kernels):
    gate, name = bench.named(kernels[key])
    assert gate
    assert name is None
