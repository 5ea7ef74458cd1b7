"""Reductions and scans, with the library's combining functions and with a kernel's own."""

import torch
import triton
import triton.language as tl

from tests.simulator.launching import elementwise


@triton.jit
def multiply(a, b):
    return a * b


@triton.jit
def first_two(a, b, c, d):
    return a + c, tl.maximum(b, d)


@triton.jit
def reductions(x_ptr, y_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    tl.store(y_ptr, tl.max(x, 0))
    tl.store(y_ptr + 1, tl.min(x, 0))
    tl.store(y_ptr + 2, tl.argmax(x, 0).to(tl.float32))
    tl.store(y_ptr + 3, tl.argmin(x, 0).to(tl.float32))
    tl.store(y_ptr + 4, tl.reduce(x, 0, multiply))
    value, index = tl.max(x, 0, return_indices=True)
    tl.store(y_ptr + 5, value + index)
    s, m = tl.reduce((x, x), 0, first_two)
    tl.store(y_ptr + 6, s + m)
    tile = tl.reshape(x, (4, 4))
    tl.store(y_ptr + 7, tl.sum(tl.sum(tile, 1, keep_dims=True)))
    tl.store(y_ptr + 8 + tl.arange(0, 4), tl.max(tile, axis=1))
    tl.store(y_ptr + 12 + tl.arange(0, 4), tl.sum(tl.associative_scan(tile, 1, multiply), axis=0))


def test_reductions_and_scans():
    x = torch.rand(16) + 0.5
    got = elementwise(reductions, x)
    tile = x.reshape(4, 4)
    front = [x.max(), x.min(), x.argmax(), x.argmin(), x.prod(), x.max() + x.argmax(), x.sum() + x.max(), x.sum()]
    torch.testing.assert_close(
        got, torch.cat([torch.stack([f.float() for f in front]), tile.amax(1), tile.cumprod(1).sum(0)])
    )


@triton.jit
def nan_rules(x_ptr, y_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    tl.store(y_ptr, tl.max(x, 0))
    tl.store(y_ptr + 1, tl.sum(x, 0))
    tl.store(y_ptr + 2, tl.max(tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL), 0))
    tl.store(y_ptr + 3, tl.sum(tl.maximum(x, 0.0), 0))


def test_nan_loses_against_a_number_in_max():
    x = torch.arange(16.0)
    x[3] = torch.nan
    got = elementwise(nan_rules, x)
    assert got[0] == 15
    assert got[1].isnan()
    assert got[3] == sum(range(16)) - 3


@triton.jit
def one_after_the_other(slope, start, next_slope, next_start):
    return slope * next_slope, start * next_slope + next_start


@triton.jit
def composed(x_ptr, y_ptr):
    lanes = tl.arange(0, 16)
    x = tl.load(x_ptr + lanes)
    _, reduced = tl.reduce((x, x), 0, one_after_the_other)
    _, scanned = tl.associative_scan((x, x), 0, one_after_the_other)
    tl.store(y_ptr, reduced)
    tl.store(y_ptr + 1, tl.sum(tl.where(lanes == 15, scanned, 0.0), 0))


def test_only_a_scan_may_rely_on_the_order_of_its_operands():
    """On a GPU, a warp's reduction combines lane 0 with lane 16: a kernel that passed here would be wrong there."""
    x = torch.rand(16) + 0.5
    value = 0.0
    for number in x.tolist():
        value = value * number + number
    got = elementwise(composed, x)
    torch.testing.assert_close(got[1].item(), value)
    assert abs(got[0].item() - value) > 0.01 * value
