"""Each defect is found, told with its line, program and elements; and right kernels are left alone."""

import pytest
import torch
import triton
import triton.language as tl

from checker.simulator import SimulateOptions
from tests.simulator.kernels import copied, no_other, without_other
from tests.simulator.launching import EXPLAIN, kernel_of, kinds, line_of, nans, only, run


@triton.jit
def unmasked(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    offs_n = tl.arange(0, BLOCK_N)
    x = tl.load(x_ptr + row * stride_xm + offs_n)
    tl.store(y_ptr + row * stride_ym + offs_n, x, mask=offs_n < N)


def test_a_load_past_the_end():
    arguments = {"x_ptr": torch.randn(4, 12), "y_ptr": nans(4, 12), "stride_xm": 12, "stride_ym": 12, "N": 12}
    found = only(run(unmasked, (4,), ("y_ptr",), {"BLOCK_N": 16}, **arguments))
    assert (found.kind, found.tensor, found.program, found.count) == ("out_of_bounds_load", "x_ptr", (3, 0, 0), 4)
    assert (found.line, found.elements[0], found.guard) == (line_of(unmasked, "tl.load"), (4, 0), None)


def test_a_store_past_the_end_changes_nothing_there(tmp_path):
    memory = torch.zeros(40)
    kernel = kernel_of(tmp_path, "tl.store(y_ptr + offs + 16 * tl.program_id(0), x)")
    found = only(run(kernel, (3,), ("y_ptr",), {}, x_ptr=torch.ones(16), y_ptr=memory[:33]))
    assert (found.kind, found.program, found.elements[0], found.count) == ("out_of_bounds_store", (2, 0, 0), (33,), 15)
    assert memory.tolist() == [1.0] * 33 + [0.0] * 7


def test_the_gap_of_a_strided_view():
    x = torch.randn(4, 20)[:, :12]
    found = only(copied(x, nans(4, 12), 12))
    assert found.kind == "out_of_bounds_load"
    assert found.elements[0] == (0, 12)
    assert copied(x, nans(4, 12), 20).findings == []


def test_an_address_before_the_tensor():
    found = only(copied(torch.randn(1, 12), nans(1, 12), 12, shift=-3))
    assert (found.kind, found.count) == ("out_of_bounds_load", 3)
    assert (found.elements[0], found.guard) == ((0, -3), "mask")


def test_an_address_far_away_is_an_event_and_not_a_crash(tmp_path):
    kernel = kernel_of(tmp_path, "tl.store(y_ptr, tl.load(x_ptr + 10_000_000_000))")
    trace = run(kernel, (1,), ("y_ptr",), {}, x_ptr=torch.zeros(16), y_ptr=torch.zeros(1))
    assert kinds(trace) == {"out_of_bounds_load"}


@pytest.mark.parametrize("kind", ["max", "sum", "argmax", "scan", "branch"])
def test_undefined_lanes_that_reach_a_result(kind):
    found = only(without_other(kind))
    assert (found.kind, found.line) == ("undefined_lanes", line_of(no_other, "tl.load"))
    assert (found.loaded, found.tensor) == ("x_ptr", None if kind == "branch" else "y_ptr")
    assert found.reached_line > found.line


@pytest.mark.parametrize("kind", ["where", "and"])
def test_undefined_lanes_that_are_masked_afterwards(kind):
    trace = without_other(kind)
    assert trace.findings == []
    assert {e.undefined for e in trace.events if e.kind == "load"} == {4}


def test_undefined_lanes_that_are_never_stored(tmp_path):
    lines = "mask = offs < 10", "tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=mask) * 2, mask=mask)"
    x, y = torch.randn(16), nans(10)
    assert run(kernel_of(tmp_path, *lines), (1,), ("y_ptr",), {}, x_ptr=x, y_ptr=y).findings == []
    torch.testing.assert_close(y, 2 * x[:10])


@triton.jit
def undefined_rows_of_a_dot(a_ptr, b_ptr, c_ptr, N, SIDE: tl.constexpr, B: tl.constexpr):
    offs = tl.arange(0, B)
    tile = offs[:, None] * B + offs[None, :]
    rows = offs[:, None] < N
    if SIDE == "a":
        a = tl.load(a_ptr + tile, mask=rows)
        b = tl.load(b_ptr + tile)
    else:
        a = tl.load(a_ptr + tile)
        b = tl.load(b_ptr + tile, mask=rows)
    tl.store(c_ptr + tile, tl.dot(a, b), mask=rows)


@pytest.mark.parametrize(("side", "found"), [("a", set()), ("b", {"undefined_lanes"})])
def test_undefined_lanes_through_a_dot(side, found):
    """Undefined rows of a only make undefined rows, which are masked."""
    arguments = {"a_ptr": torch.randn(16, 16), "b_ptr": torch.randn(16, 16), "c_ptr": nans(10, 16), "N": 10}
    assert kinds(run(undefined_rows_of_a_dot, (1,), ("c_ptr",), {"B": 16, "SIDE": side}, **arguments)) == found


def test_unwritten_elements(tmp_path):
    kernel = kernel_of(tmp_path, "tl.store(y_ptr + 16 * tl.program_id(0) + offs, x, mask=offs < 6)")
    trace = run(kernel, (4,), ("y_ptr",), {}, x_ptr=torch.randn(16), y_ptr=nans(4, 16))
    found = only(trace)
    assert (found.kind, found.count, found.elements[0]) == ("unwritten", 40, (0, 6))
    assert (trace.writers["y_ptr"].reshape(4, 16)[:, 6:] == -1).all()


def test_a_modified_input(tmp_path):
    kernel = kernel_of(tmp_path, "tl.store(x_ptr + offs, x * 2)", "tl.store(y_ptr + offs, x)")
    found = only(run(kernel, (1,), ("y_ptr",), {}, x_ptr=torch.randn(16), y_ptr=nans(16)))
    assert (found.kind, found.tensor, found.count) == ("modified_input", "x_ptr", 16)
    assert found.line == line_of(kernel, "x * 2")


@triton.jit
def nan_maker(x_ptr, y_ptr, N, BLOCK_N: tl.constexpr):
    offs = tl.arange(0, BLOCK_N)
    x = tl.load(x_ptr + offs, mask=offs < N, other=float("-inf"))
    m = tl.max(x, axis=0)
    hidden = tl.where(offs < 0, x - x, 1.0)
    d = x - m
    tl.store(y_ptr + offs, tl.exp(d) * hidden, mask=offs < N)


def test_where_a_nan_is_born():
    def made_of(x):
        return run(nan_maker, (1,), ("y_ptr",), {"BLOCK_N": 8}, EXPLAIN, x_ptr=x, y_ptr=nans(6), N=6)

    found = only(made_of(torch.full((6,), -torch.inf)))
    assert (found.kind, found.operation, found.count) == ("nan_born", "-", 6)
    assert found.line == line_of(nan_maker, "d = x - m")
    assert made_of(torch.ones(6)).findings == []
    assert made_of(nans(6)).findings == []  # it came in with the input


def test_a_nan_that_masked_lanes_are_given_keeps_its_birth(tmp_path):
    made = "filler = x / 0.0 - x / 0.0"
    store = "tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=offs < 14, other=filler))"
    kernel = kernel_of(tmp_path, made, store)
    found = only(run(kernel, (1,), ("y_ptr",), {}, EXPLAIN, x_ptr=torch.ones(16), y_ptr=torch.zeros(16)))
    assert (found.kind, found.operation, found.count) == ("nan_born", "-", 2)
    assert found.line == line_of(kernel, made)


def test_a_nan_out_of_undefined_lanes_names_its_load(tmp_path):
    assert only(without_other("sum", EXPLAIN)).kind == "undefined_lanes"
    lost = "m = tl.maximum(tl.load(x_ptr + offs, mask=offs < 14), float('-inf'))"  # a maximum loses the NaN
    kernel = kernel_of(tmp_path, lost, "tl.store(y_ptr + offs, float('-inf') - m)")
    found = only(run(kernel, (1,), ("y_ptr",), {}, EXPLAIN, x_ptr=torch.ones(16), y_ptr=torch.zeros(16)))
    assert (found.kind, found.line) == ("undefined_lanes", line_of(kernel, lost))


def test_where_an_inf_is_born(tmp_path):
    explain = SimulateOptions(explain_nan=True, explain_inf=True)
    half, x = torch.zeros(16, dtype=torch.float16), torch.ones(16)
    for made, count in (
        ("y = x / tl.where(offs < 3, 0.0, x)", 3),
        ("y = tl.exp(100.0 * x)", 16),
        ("y = (x * 40000).to(tl.float16) * 2", 16),
        ("y = x * 70000", 16),  # the store makes it a float16
        ("y = tl.sum(x * 3e38, 0) + offs", 16),
        ("y = tl.log(x - 1)", 0),  # by definition
        ("y = tl.where(offs < 3, float('-inf'), x)", 0),  # as the kernel's author wants it
        ("y = 1 / (1 + tl.exp(100.0 * x))", 0),  # nobody sees it
    ):
        kernel = kernel_of(tmp_path, made, "tl.store(y_ptr + offs, y)")
        findings = run(kernel, (1,), ("y_ptr",), {}, explain, x_ptr=x, y_ptr=half).findings
        assert [(f.kind, f.count) for f in findings] == ([("inf_born", count)] if count else []), made
        if count:
            line = line_of(kernel, "tl.store" if "70000" in made else made)
            assert findings[0].line == line, made
