"""Tensors whose rows the simulator takes to lie far apart: every offset finds its element, and no other."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import triton
import triton.language as tl

from checker.puzzle import Launch
from checker.simulator import simulate

PITCH = 2**30


@triton.jit
def doubles(x_ptr, y_ptr, stride_xb, stride_xm, N, SHIFT: tl.constexpr, WIDE: tl.constexpr, BLOCK_N: tl.constexpr):
    batch = tl.program_id(1)
    row = tl.program_id(0)
    if WIDE:
        batch = batch.to(tl.int64)
        row = row.to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    x = tl.load(x_ptr + batch * stride_xb + row * stride_xm + offs_n + SHIFT, mask=offs_n < N, other=0.0)
    place = (tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)) * N
    tl.store(y_ptr + place + offs_n, 2 * x, mask=offs_n < N)


def launch(shift: int = 0, wide: bool = True) -> Launch:
    """x [2, 3, 5], rows of 7 in memory, told to lie 2³⁰ and 3 · 2³⁰ apart."""
    x = torch.arange(2 * 3 * 7, dtype=torch.float32).reshape(2, 3, 7)[..., :5]
    arguments = {"x_ptr": x, "y_ptr": torch.zeros(2, 3, 5), "stride_xb": 3 * PITCH, "stride_xm": PITCH, "N": 5}
    meta = {"SHIFT": shift, "WIDE": wide, "BLOCK_N": 8}
    return Launch((3, 2), arguments, meta, ("y_ptr",), far={"x_ptr": (3 * PITCH, PITCH, 1)})


def test_far_offsets_reach_their_elements():
    bound = launch()
    trace = simulate(doubles, bound)
    assert trace.findings == []
    assert torch.equal(bound.arguments["y_ptr"], 2 * bound.arguments["x_ptr"])
    assert trace.traffic["x_ptr"].loaded == 2 * 3 * 5 * 4


def test_without_it_the_same_strides_leave_the_tensor():
    kinds = {f.kind for f in simulate(doubles, replace(launch(), far={})).findings}
    assert "out_of_bounds_load" in kinds


@pytest.mark.parametrize("shift", [-1, 2, 6], ids=["before", "gap", "past_the_row"])
def test_what_is_no_element_is_outside(shift):
    """Past a far row's end there is nothing, although the next row really lies there."""
    found = [f for f in simulate(doubles, launch(shift)).findings if f.kind == "out_of_bounds_load"]
    assert sum(f.count for f in found) == 6 * min(abs(shift), 5)


def test_a_product_that_wraps_around_is_outside():
    x = launch(wide=False)
    found = [f for f in simulate(doubles, x).findings if f.kind == "out_of_bounds_load"]
    assert sum(f.count for f in found) >= 5, "row 2 of the first batch begins at 2³¹"
