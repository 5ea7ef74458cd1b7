"""Block pointers and tensor descriptors: what they read and store, what they leave out, and what is told of them."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl
from triton.language.semantic import TritonSemantic

from checker.puzzle import Launch
from checker.simulator import Finding, SimulationError, Trace, simulate
from tests.simulator.kernels import copied_by_descriptors
from tests.simulator.launching import EVENTS, kernel_of, line_of, nans, ragged

HAS_BLOCK_POINTERS = hasattr(TritonSemantic, "make_block_ptr")
BLOCK_POINTERS = pytest.mark.skipif(not HAS_BLOCK_POINTERS, reason="this Triton has no block pointers")


COPIES = {"descriptor": copied_by_descriptors}
if HAS_BLOCK_POINTERS:

    @triton.jit
    def copied_by_block_pointer(x_ptr, y_ptr, M, N, stride_xm, stride_ym, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
        start_m = tl.program_id(0) * BLOCK_M
        block: tl.constexpr = (BLOCK_M, BLOCK_N)
        x_block = tl.make_block_ptr(x_ptr, (M, N), (stride_xm, 1), (start_m, 0), block, (1, 0))
        y_block = tl.make_block_ptr(y_ptr, (M, N), (stride_ym, 1), (start_m, 0), block, (1, 0))
        for _ in range(0, N, BLOCK_N):
            x = tl.load(x_block, boundary_check=(0, 1), padding_option="zero")
            tl.store(y_block, x + 1, boundary_check=(0, 1))
            x_block = tl.advance(x_block, (0, BLOCK_N))
            y_block = tl.advance(y_block, (0, BLOCK_N))

    COPIES["block pointer"] = copied_by_block_pointer


@pytest.mark.parametrize("name", COPIES)
def test_a_ragged_matrix_is_copied_block_by_block(name):
    launch = ragged(5, 20)
    trace = simulate(COPIES[name], launch, EVENTS)
    assert torch.equal(launch.arguments["y_ptr"], launch.arguments["x_ptr"] + 1)
    assert not trace.findings
    assert trace.traffic["x_ptr"].loaded == trace.traffic["y_ptr"].stored == 5 * 20 * 4
    assert trace.traffic["x_ptr"].loads == 6
    last = trace.events[-1]
    assert (last.kind, last.tile.box, last.tile.active) == ("store", ((4, 8), (16, 24)), ((4, 5), (16, 20)))
    assert last.masked == 4 * 8 - 4


def simulated(folder, *statements: str):
    kernel = kernel_of(folder, *statements)
    x, y = torch.arange(48.0).reshape(6, 8), nans(6, 8)
    return kernel, simulate(kernel, Launch((1,), {"x_ptr": x, "y_ptr": y}, {}, ("y_ptr",))), y


def of_kind(trace: Trace, kind: str) -> Finding:
    return next(f for f in trace.findings if f.kind == kind)


BLOCK = "p = tl.make_block_ptr(x_ptr, ({}, 8), (8, 1), (4, 0), (4, 8), (1, 0))"


@BLOCK_POINTERS
def test_an_axis_that_is_not_checked_or_a_shape_too_large_reaches_outside(tmp_path):
    for rows, checked in ((6, "(1,)"), (8, "(0, 1)")):
        kernel, trace, _ = simulated(tmp_path, BLOCK.format(rows), f"z = tl.load(p, boundary_check={checked})")
        finding = of_kind(trace, "out_of_bounds_load")
        assert (finding.count, finding.elements[0], finding.guard) == (16, (6, 0), "boundary_check")
        assert finding.line == line_of(kernel, "z = ")


@BLOCK_POINTERS
def test_lanes_past_the_edge_hold_the_padding(tmp_path):
    store = "tl.store(y_ptr + tl.arange(0, 8), tl.sum(z, 0))"
    _, trace, _ = simulated(tmp_path, BLOCK.format(6), "z = tl.load(p, boundary_check=(0,))", store)
    assert of_kind(trace, "undefined_lanes").guard == "boundary_check"
    for padding, expected in (("zero", torch.arange(32.0, 40) + torch.arange(40.0, 48)), ("nan", nans(8))):
        load = f'z = tl.load(p, boundary_check=(0,), padding_option="{padding}")'
        _, trace, y = simulated(tmp_path, BLOCK.format(6), load, store)
        assert "undefined_lanes" not in {f.kind for f in trace.findings}
        torch.testing.assert_close(y[0], expected, equal_nan=True)


@BLOCK_POINTERS
def test_what_the_compiler_refuses_is_refused(tmp_path):
    for statement, words in (
        ("tl.load(p, mask=offs < 4)", "mask"),
        ('tl.load(x_ptr + offs, padding_option="zero")', "block pointers"),
        ("tl.store(p, x)", "mismatch"),
        ("tl.advance(p, (1,))", "2 dimensions"),
    ):
        with pytest.raises(SimulationError, match=words):
            simulated(tmp_path, BLOCK.format(6), statement)


DESCRIPTOR = "d = tl.make_tensor_descriptor({0}, [6, 8], [{1}, 1], [4, {2}])"


@pytest.mark.parametrize(
    ("base", "stride", "width", "use", "words"),
    [
        ("x_ptr + 1", 8, 8, "", "multiple of 16 bytes"),
        ("x_ptr", 7, 8, "", "28 bytes"),
        ("x_ptr", 8, 2, "", "at least 16 bytes"),
        ("x_ptr", 8, 4, "d.load([0, 1])", "4 bytes into its row"),
        ("x_ptr", 8, 4, "d.load([0])", "expected 2 offsets"),
        ("x_ptr", 8, 4, "d.store([0, 0], x)", "assertion|shape"),
    ],
    ids=["base", "stride", "width", "offset", "number of offsets", "shape"],
)
def test_a_descriptor_asks_for_alignment(base, stride, width, use, words, tmp_path):
    with pytest.raises(SimulationError, match=words):
        simulated(tmp_path, DESCRIPTOR.format(base, stride, width), use or "pass")


def test_a_descriptor_reads_zero_outside_and_stores_nothing_there(tmp_path):
    lines = (
        DESCRIPTOR.format("x_ptr", 8, 8),
        "e = tl.make_tensor_descriptor(y_ptr, [6, 8], [8, 1], [4, 8])",
        "e.store([0, 0], d.load([-2, 0]))",
        "e.store([4, 0], d.load([4, 4]) + 1)",
    )
    _, trace, y = simulated(tmp_path, *lines)
    x = torch.arange(48.0).reshape(6, 8)
    assert (y[:2] == 0).all()
    assert torch.equal(y[2:4], x[:2])
    assert torch.equal(y[4:, :4], x[4:, 4:] + 1)
    assert (y[4:, 4:] == 1).all()
    assert not trace.findings


def test_a_descriptor_of_a_larger_shape_reaches_outside(tmp_path):
    line = "d = tl.make_tensor_descriptor(x_ptr, [8, 8], [8, 1], [4, 8])"
    _, trace, _ = simulated(tmp_path, line, "z = d.load([4, 0])")
    assert of_kind(trace, "out_of_bounds_load").guard == "descriptor"


def test_a_descriptor_adds_atomically_and_gathers_rows(tmp_path):
    kernel = kernel_of(
        tmp_path,
        "d = tl.make_tensor_descriptor(x_ptr, [16, 8], [8, 1], [1, 8])",
        "rows = (tl.arange(0, 8) * 3) % 16",
        "e = tl.make_tensor_descriptor(y_ptr, [8, 8], [8, 1], [8, 8])",
        "e.atomic_add([0, 0], d.gather(rows, 0))",
    )
    x, y = torch.arange(128.0).reshape(16, 8), torch.ones(8, 8)
    trace = simulate(kernel, Launch((2,), {"x_ptr": x, "y_ptr": y}, {}, ("y_ptr",)))
    assert torch.equal(y, 1 + 2 * x[torch.arange(8) * 3 % 16])
    assert not trace.findings
