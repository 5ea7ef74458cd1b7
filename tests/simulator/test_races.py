"""Two programs, two lanes of one store or two threads at one element: never right, whatever came out."""

import pytest
import torch
import triton
import triton.language as tl

from checker.simulator.triton_internals import source_of
from tests.simulator.kernels import copied
from tests.simulator.launching import HEAD, kernel_of, kinds, line_of, loaded, nans, only, run


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


@triton.jit
def sums_under_a_lock(x_ptr, lock_ptr, count_ptr, sum_ptr, BLOCK_N: tl.constexpr):
    offs_n = tl.arange(0, BLOCK_N)
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK_N + offs_n)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    if tl.load(count_ptr) == 0:
        tl.atomic_xchg(count_ptr, 1)
    else:
        x += tl.load(sum_ptr + offs_n)
    tl.store(sum_ptr + offs_n, x)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


def changed(tmp_path, kernel, old="", new=""):
    """The kernel with this change of its text."""
    text = "".join(source_of(kernel)[0])
    assert old in text
    return loaded(tmp_path, HEAD + text.replace(old, new), kernel.__name__)


def in_a_group(kernel):
    """The trace of eight programs that add up their rows under one lock."""
    x, total = torch.randn(8, 16), torch.zeros(16)
    numbers = {name: torch.zeros(1, dtype=torch.int32) for name in ("lock_ptr", "count_ptr")}
    outputs = ("lock_ptr", "count_ptr", "sum_ptr")
    trace = run(kernel, (8,), outputs, {"BLOCK_N": 16}, x_ptr=x, sum_ptr=total, **numbers)
    torch.testing.assert_close(total, x.sum(0))
    return trace


def test_what_a_lock_guards_is_no_race():
    assert in_a_group(sums_under_a_lock).findings == []


def test_a_lock_guards_only_what_waits_for_it_and_until_it_is_free(tmp_path):
    wait = "    while tl.atomic_cas(lock_ptr, 0, 1) == 1:\n        pass\n"
    store, free = "    tl.store(sum_ptr + offs_n, x)\n", "    tl.debug_barrier()\n    tl.atomic_xchg(lock_ptr, 0)\n"
    for old, new in (
        (wait, ""),
        (wait, "    tl.atomic_cas(lock_ptr, 0, 1)\n"),
        ("lock_ptr, 0, 1", "lock_ptr, 0, 1, sem='relaxed'"),
        ("lock_ptr, 0, 1", "lock_ptr, 0, 1, sem='release'"),
        ("lock_ptr, 0)", "lock_ptr, 0, sem='relaxed')"),
        ("lock_ptr, 0)", "lock_ptr, 0, scope='cta')"),
        (store + free, free + store),
    ):
        assert kinds(in_a_group(changed(tmp_path, sums_under_a_lock, old, new))) == {"race"}, (old, new)


def test_a_lock_is_released_too_early_if_threads_may_still_store_what_it_guards(tmp_path):
    kernel = changed(tmp_path, sums_under_a_lock, "    tl.debug_barrier()\n")
    found = only(in_a_group(kernel))
    assert (found.kind, found.tensor, found.elements[0]) == ("early_release", "sum_ptr", (0,))
    assert (found.operation, found.line) == ("lock_ptr", line_of(kernel, "lock_ptr, 0)"))
    assert (found.program, found.other) == ((1, 0, 0), (0, 0, 0))


@triton.jit
def last_one_adds(x_ptr, part_ptr, count_ptr, sum_ptr, PROGRAMS: tl.constexpr):
    pid = tl.program_id(0)
    tl.store(part_ptr + pid, tl.load(x_ptr + pid) * 2)
    tl.debug_barrier()
    if tl.atomic_add(count_ptr, 1) == PROGRAMS - 1:
        tl.store(sum_ptr, tl.sum(tl.load(part_ptr + tl.arange(0, PROGRAMS))))


def test_the_program_that_counts_to_the_end_may_load_what_all_have_stored(tmp_path):
    counts = "if tl.atomic_add(count_ptr, 1) =="
    for new, races in ((counts, set()), ("tl.atomic_add(count_ptr, 1)\n    if pid ==", {"race"})):
        kernel = changed(tmp_path, last_one_adds, counts, new)
        tensors = {"x_ptr": torch.ones(8), "part_ptr": nans(8), "sum_ptr": nans(1)}
        count = torch.zeros(1, dtype=torch.int32)
        trace = run(kernel, (8,), ("part_ptr", "count_ptr", "sum_ptr"), {"PROGRAMS": 8}, count_ptr=count, **tensors)
        assert tensors["sum_ptr"].item() == 16
        assert kinds(trace) == races
