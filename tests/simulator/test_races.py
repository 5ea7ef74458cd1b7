"""Two programs, two lanes of one store or two threads at one element: never right, whatever came out."""

import pytest
import torch
import triton
import triton.language as tl

from tests.simulator.kernels import copied
from tests.simulator.launching import kernel_of, kinds, line_of, nans, only, run


@triton.jit
def same_place(x_ptr, y_ptr, N, BLOCK_N: tl.constexpr):
    offs_n = tl.arange(0, BLOCK_N)
    tl.store(y_ptr + offs_n, tl.load(x_ptr + offs_n, mask=offs_n < N, other=0.0), mask=offs_n < N)


def test_two_programs_that_store_one_element():
    trace = run(same_place, (4,), ("y_ptr",), {"BLOCK_N": 16}, x_ptr=torch.randn(12), y_ptr=nans(12), N=12)
    found = only(trace)
    assert (found.kind, found.tensor, found.line) == ("race", "y_ptr", line_of(same_place, "tl.store"))
    assert (found.program, found.other, found.accesses) == ((1, 0, 0), (0, 0, 0), ("store", "store"))


def test_two_lanes_of_one_store(tmp_path):
    kernel = kernel_of(tmp_path, "tl.store(y_ptr + offs // 2, x)")
    found = only(run(kernel, (1,), ("y_ptr",), {}, x_ptr=torch.randn(16), y_ptr=nans(8)))
    assert found.kind == "race_in_store"


STORED, AGAIN = "tl.store(y_ptr + offs, x)", "tl.store(y_ptr + offs, 2 * tl.load(y_ptr + offs))"


def test_a_load_of_what_was_stored_with_no_barrier_since(tmp_path):
    found = only(run(kernel_of(tmp_path, STORED, AGAIN), (1,), ("y_ptr",), {}, x_ptr=torch.randn(16), y_ptr=nans(16)))
    assert (found.kind, found.tensor, found.elements[0], found.count) == ("missing_barrier", "y_ptr", (0,), 16)


@pytest.mark.parametrize("waits", ["tl.debug_barrier()", "tl.atomic_add(y_ptr, 0.0)"], ids=["barrier", "atomic"])
def test_a_barrier_or_an_atomic_keeps_the_load_after_the_store(tmp_path, waits):
    y = nans(16)
    trace = run(kernel_of(tmp_path, STORED, waits, AGAIN), (1,), ("y_ptr",), {}, x_ptr=torch.ones(16), y_ptr=y)
    assert trace.findings == []
    assert y.eq(2).all()


def test_a_load_before_the_store_needs_no_barrier(tmp_path):
    kernel = kernel_of(tmp_path, "before = tl.load(y_ptr + offs)", "tl.store(y_ptr + offs, before + x)")
    assert run(kernel, (1,), ("y_ptr",), {}, x_ptr=torch.randn(16), y_ptr=torch.zeros(16)).findings == []


@triton.jit
def neighbour(x_ptr, N):
    pid = tl.program_id(0)
    tl.store(x_ptr + pid, tl.load(x_ptr + (pid + 1) % N) + 1)


def test_a_program_that_loads_what_another_stores():
    assert kinds(run(neighbour, (4,), ("x_ptr",), {}, x_ptr=torch.zeros(4), N=4)) == {"race"}


def test_aliases_share_their_elements():
    x = torch.randn(4, 12)
    assert copied(x, x, 12).findings == []  # in place, each program its own row
    assert kinds(copied(x[1:], x[:3], 12)) == {"race"}
