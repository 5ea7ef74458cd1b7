"""A launch is a launch: ``kernel[grid](…)`` on CPU tensors runs, writes its outputs and says what is wrong."""

from __future__ import annotations

import _thread
import importlib.util
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from checker.lens import KernelStopped, LaunchError, film, session
from checker.simulator.triton_internals import source_of

TIMES = tl.constexpr(3.0)


@pytest.fixture(autouse=True)
def lens(monkeypatch: pytest.MonkeyPatch) -> Iterator[session.Lens]:
    """A lens of the test's own, so that a finding of one test is new in another."""
    with session.using(session.Lens()) as own:
        yield own


@triton.jit
def twice(x):
    return x * 2


@triton.jit
def double_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr = 64):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(y_ptr + offs, twice(x), mask=offs < n)


@triton.jit
def unmasked_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs), mask=offs < n)


@triton.autotune(
    [triton.Config({"BLOCK": 24}), triton.Config({"BLOCK": 32}, num_warps=8), triton.Config({"BLOCK": 64})],
    key=["n"],
    reset_to_zero=["y_ptr"],
)
@triton.heuristics({"EVEN": lambda given: given["n"] % given["BLOCK"] == 0})
@triton.jit
def add_kernel(x_ptr, y_ptr, n: tl.int64, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs) if EVEN else tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    y = tl.load(y_ptr + offs, mask=offs < n, other=0.0)
    tl.store(y_ptr + offs, y + x * TIMES, mask=offs < n)


@triton.jit
def strided_kernel(x_ptr, y_ptr, stride_m, stride_n, N: tl.constexpr):
    columns = tl.arange(0, N)
    row = tl.program_id(0)
    tl.store(y_ptr + row * stride_m + columns * stride_n, tl.load(x_ptr + row * N + columns))


@triton.jit
def block_kernel(source, target, ROWS: tl.constexpr):
    row = tl.program_id(0) * ROWS
    target.store([row, 0], source.load([row, 0]) + 1)


@triton.jit
def printing_kernel(x_ptr):
    program = tl.program_id(0)
    print("row", program)
    tl.device_print("x", tl.load(x_ptr + program))


@triton.jit
def endless_kernel(x_ptr):
    x = tl.load(x_ptr)
    while (x + 1) * tl.program_id(0) > 0:
        x += 1
    tl.store(x_ptr, x)


@triton.jit
def wide_kernel(y_ptr, n: tl.int64):
    tl.store(y_ptr, n * n)


def blocks(meta: dict[str, Any]) -> tuple[int]:
    return (triton.cdiv(100, meta["BLOCK"]),)


def test_a_launch_writes_its_outputs() -> None:
    x, y = torch.randn(100), torch.zeros(100)
    for launch in (
        lambda: double_kernel[(2,)](x, y, 100),
        lambda: double_kernel[blocks](x, y, 100, num_warps=8, num_stages=2),
        lambda: double_kernel[blocks](x, y_ptr=y, n=100, BLOCK=32),
        lambda: double_kernel[4, 1, 1](x, y, 100, BLOCK=tl.constexpr(32)),
    ):
        y.zero_()
        launch()
        assert torch.equal(y, 2 * x)


def test_autotune_takes_the_first_configuration_that_runs_and_resets_once() -> None:
    """BLOCK = 24 is no power of two. As on a GPU, a later launch with the same key adds to what is there."""
    x, y = torch.randn(100), torch.ones(100)
    add_kernel[blocks](x, y, 100)
    assert add_kernel.best_config.kwargs == {"BLOCK": 32}
    assert torch.equal(y, 3 * x)
    add_kernel[blocks](x, y, 100)
    assert torch.equal(y, 3 * x + 3 * x)


def test_all_configurations_run_on_request(lens: session.Lens) -> None:
    lens.all_configs = True
    x, y = torch.randn(96), torch.ones(96)
    add_kernel[blocks](x, y, 96)
    assert [of.launches for of in lens.report.kernels.values()] == [2]
    assert torch.equal(y, 3 * x), "each starts from the same tensors"


def test_views_and_descriptors() -> None:
    x, whole = torch.randn(3, 16), torch.zeros(8, 40)
    view = whole[1:7:2, 3:35:2]
    strided_kernel[(3,)](x, view, *view.stride(), N=16)
    assert torch.equal(view, x)
    assert whole.count_nonzero() == 48, "nothing beside the view"
    source, target = torch.randn(10, 16), torch.zeros(10, 16)
    descriptors = (TensorDescriptor.from_tensor(tensor, [4, 16]) for tensor in (source, target))
    block_kernel[(3,)](*descriptors, 4)
    assert torch.equal(target, source + 1)
    strided_kernel[(3,)](triton.reinterpret(x.view(torch.int32), tl.float32), view, *view.stride(), N=16)
    assert torch.equal(view, x)


class Shifted:
    """Memory from the fourth element on, as some libraries pass it."""

    def __init__(self, base: torch.Tensor) -> None:
        self.base, self.dtype = base, base.dtype

    def data_ptr(self) -> int:
        return self.base.data_ptr() + 3 * self.dtype.itemsize


def test_an_object_that_holds_a_tensor(lens: session.Lens) -> None:
    x, y = torch.randn(13), torch.zeros(13)
    double_kernel[(1,)](Shifted(x), Shifted(y), 10)
    assert torch.equal(y[3:], 2 * x[3:])
    assert not y[:3].any()
    double_kernel[(1,)](Shifted(x), Shifted(y), 11)
    assert {finding.kind for finding in lens.report.findings} == {"out_of_bounds_load", "out_of_bounds_store"}


def test_a_parameter_has_the_type_that_its_annotation_gives() -> None:
    y = torch.zeros(1, dtype=torch.int64)
    wide_kernel[(1,)](y, 1 << 20)
    assert y.item() == 1 << 40


def test_a_finding_is_one_short_message(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        unmasked_kernel[(2,)](torch.randn(100), torch.zeros(100), 100, BLOCK=64)
    message = " ".join(capsys.readouterr().err.split())
    line = source_of(unmasked_kernel)[1] + 3
    assert "unmasked_kernel in tests/lens/test_launches.py, grid 2: 1 finding" in message
    assert (
        "Load out of bounds • Program 1 reads 28 lanes outside x (100 elements), for example x[100], at line" in message
    )
    assert message.count("Load out of bounds") == 1, "the same finding again is no news"
    assert f"at line {line}." in message


def test_a_line_of_a_helper_in_another_file(tmp_path: Path, lens: session.Lens) -> None:
    """Both files have a line 5, so the file has to be named."""
    head = "import triton\nimport triton.language as tl\n"
    helper = "@triton.jit\ndef fetch(x_ptr, offs):\n    return tl.load(x_ptr + offs)\n"
    kernel = "@triton.jit\ndef kernel(x_ptr):\n    tl.store(x_ptr, tl.sum(fetch(x_ptr, tl.arange(0, 16))))\n"
    modules = {}
    for name, text in (("helper", head + helper), ("kernel", head + kernel)):
        (tmp_path / f"{name}.py").write_text(text)
        spec = importlib.util.spec_from_file_location(name, tmp_path / f"{name}.py")
        modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(modules[name])
    modules["kernel"].fetch = modules["helper"].fetch
    modules["kernel"].kernel[(1,)](torch.zeros(15))
    (problem,) = lens.report.findings
    assert (problem.file, problem.line) == ("helper.py", 5)
    assert "at line 5 of helper.py" in problem.what


def test_what_a_kernel_prints_is_seen(capsys: pytest.CaptureFixture[str], lens: session.Lens) -> None:
    x = torch.arange(9.0)
    printing_kernel[(9,)](x)
    ends = [line for i in (0, 1, 7, 8) for line in (f"program {i} row: {i}", f"program {i} x: {i}.")]
    assert capsys.readouterr().out.splitlines() == ends
    lens.only = (4, 0, 0)
    printing_kernel[(9,)](x)
    assert capsys.readouterr().out.splitlines() == ["program 4 row: 4", "program 4 x: 4."]


def test_an_interrupt_says_where_it_was() -> None:
    before, main = tl.load, threading.get_ident()

    def interrupt_in_the_loop() -> None:
        while True:
            frame = sys._current_frames()[main]
            while frame is not None and not (frame.f_code.co_name == "endless_kernel" and frame.f_lineno > loop):
                frame = frame.f_back
            if frame is not None:
                return _thread.interrupt_main()

    loop = source_of(endless_kernel)[1] + 3
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores interrupts
    try:
        threading.Thread(target=interrupt_in_the_loop).start()
        with pytest.raises(KeyboardInterrupt) as stopped:
            endless_kernel[(3,)](torch.zeros(1))
    finally:
        signal.signal(signal.SIGINT, handler)
    places = [f"endless_kernel stopped at line {loop + i} of tests/lens/test_launches.py, in program 1" for i in (0, 1)]
    assert any(place in str(stopped.value) for place in places), stopped.value
    assert tl.load is before, "Triton is as it was"
    x = torch.zeros(1)
    endless_kernel[(1,)](x)


def test_bad_input_is_answered() -> None:
    x, y = torch.randn(100), torch.zeros(100)
    for launch, words in (
        (lambda: double_kernel[(2,)](x, y), "double_kernel needs n, and the launch does not pass it"),
        (lambda: double_kernel[(2,)](x, y, 100, x_ptr=x), "double_kernel gets x_ptr twice"),
        (
            lambda: double_kernel[(2,)](x, y, 100, BLOKC=64),
            "has no parameter BLOKC. Its parameters are x_ptr, y_ptr, n",
        ),
        (lambda: double_kernel[(2,)](x, y, 100, 64, 64), "takes 4 arguments, and the launch passes 5"),
        (lambda: double_kernel[2](x, y, 100), r"The grid of double_kernel is 2. Write a tuple"),
        (lambda: double_kernel[(100 / 64,)](x, y, 100), "which is no whole number. For a size divided by a tile, use"),
        (lambda: double_kernel[1, 2, 3, 4](x, y, 100), "has 4 sizes. It takes one to three"),
        (lambda: double_kernel[1, 70_000](x, y, 100), "has 70,000 programs along axis 1; a GPU takes 0 to 65,535"),
        (lambda: double_kernel[(2,)](x.numpy(), y, 100), r"is a NumPy array. Pass a tensor: torch.from_numpy\(x_ptr\)"),
        (lambda: double_kernel[(2,)]([1.0], y, 100), "x_ptr of double_kernel is a list. A kernel takes tensors"),
        (
            lambda: double_kernel[(2,)](x.to("meta"), y, 100),
            "x_ptr of double_kernel is on meta. The simulator works on CPU",
        ),
        (lambda: double_kernel[(2,)](torch.empty(1).expand(1 << 40), y, 100), "and this machine has .* left"),
        (lambda: add_kernel[blocks](x, y, 100, BLOCK=3), "passes BLOCK, which @triton.autotune chooses: leave it out"),
        (lambda: double_kernel[(2,)](x, y, 100, BLOCK=3), "stopped at line .*, in program 0: The size of a tile must"),
    ):
        with pytest.raises(LaunchError, match=words):
            launch()
    assert not y.any()


def test_an_empty_grid_runs_nothing() -> None:
    y = torch.zeros(4)
    double_kernel[(0,)](torch.ones(4), y, 4)
    assert not y.any()


def test_a_film_of_any_launch(tmp_path: Path) -> None:
    x, y = torch.randn(10), torch.zeros(10)
    with film() as films:
        double_kernel[(3,)](x, y, 10, BLOCK=4)
    assert torch.equal(y, 2 * x)
    (made,) = films
    page = made.save(tmp_path / "film.html").read_text()
    assert "double_kernel, grid 3" in page
    assert "3 programs, 3 loads, 3 stores." in page
    assert "modified input" not in page
    assert "against the budget" not in page
    assert 'class="says silent"' in page, "no empty band where a film of the course has a sentence"
    with pytest.raises(LaunchError, match=r"write `with film\(\):`, and the launch below it"):
        film(torch.add)
    with film(), pytest.raises(LaunchError, match=r"too large for a film\. Launch the kernel at small sizes"):
        double_kernel[(1,)](torch.zeros(1 << 21), y, 10)


def test_a_kernel_that_stops_changes_nothing_else() -> None:
    with pytest.raises(KernelStopped):
        double_kernel[(2,)](torch.randn(10), torch.zeros(10), 10, BLOCK=3)
    test_a_launch_writes_its_outputs()
