"""Kernels on a real GPU: right, contained, and agreeing with the simulator."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest
import torch

from checker.course import PUZZLES
from checker.judge.comparison import error_against
from checker.puzzle import Launch
from checker.sandbox import Sandbox
from tests.judge.helpers import solution
from tests.sandbox.conftest import ROOT, kernel, launch

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("cuda")]


def works(sandbox: Sandbox) -> None:
    bound = launch()
    (result,) = sandbox.launch(kernel(), [bound])
    assert result.status == "passed", result.message + result.detail
    assert torch.equal(result.tensors["z_ptr"], bound.arguments["x_ptr"] + 0.5)


def test_asking_does_not_start_cuda_here() -> None:
    code = """
    from checker import gpu
    import torch
    assert gpu.available() and gpu.device_name() and gpu.capability() >= 75
    assert not torch.cuda.is_initialized()
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], cwd=ROOT, check=True, timeout=120)


@pytest.mark.parametrize("name", ["vector_add", "row_softmax"])
def test_a_solution_is_right_on_every_case(sandbox: Sandbox, name: str) -> None:
    """Large cases among them: 1031 × 16384 rows of float32."""
    puzzle = PUZZLES[name]
    for case in puzzle.cases:
        tensors = puzzle.make(case)
        (result,) = sandbox.launch(solution(name), [puzzle.launch(case, tensors, case.meta)])
        assert result.status == "passed", f"{case.name}: {result.message} {result.detail}"
        expected = puzzle.reference(case, {k: v.double() for k, v in tensors.items()})
        for output in puzzle.outputs:
            error = error_against(puzzle, case, output, result.tensors[output], expected[output])
            assert error.max() <= 1, case.name


def test_guard_bands_come_back(sandbox: Sandbox) -> None:
    """A kernel that writes one element past its output is seen in the band behind it."""
    body = """
    @triton.jit
    def vector_add_kernel(z_ptr, N, BLOCK_N: tl.constexpr):
        offs_n = tl.arange(0, BLOCK_N)
        tl.store(z_ptr + offs_n, 1.0, mask=offs_n <= N)
    """
    buffer = torch.full((256,), -7.0)
    bound = Launch((1,), {"z_ptr": buffer[64:84], "N": 20}, {"BLOCK_N": 32}, ("z_ptr",))
    (result,) = sandbox.launch(kernel("", body), [bound])
    assert result.status == "passed", result.message
    whole = torch.empty(0).set_(result.tensors["z_ptr"].untyped_storage())
    assert (whole[64:85] == 1.0).all()
    assert (whole[:64] == -7.0).all()
    assert (whole[85:] == -7.0).all()
    assert (buffer == -7.0).all(), "the caller's own tensor is untouched"


def test_several_launches_in_one_job(sandbox: Sandbox) -> None:
    launches = [launch(n, block) for n, block in ((5, 16), (100, 32), (1000, 64))]
    results = list(sandbox.launch(kernel(), launches))
    assert [r.status for r in results] == ["passed"] * 3
    for bound, result in zip(launches, results, strict=True):
        assert torch.equal(result.tensors["z_ptr"], bound.arguments["x_ptr"] + 0.5)


ILLEGAL = """
@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    offs_n = tl.arange(0, BLOCK_N).to(tl.int64)
    tl.store(z_ptr + (offs_n + 1) * 1099511627776, 1.0)
"""
ENDLESS = """
@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    i = tl.load(x_ptr + 1) * 0.0
    while i < 1.0:
        i = tl.load(x_ptr, volatile=True)
    tl.store(z_ptr, i)
"""
HUGE = """
@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    offs = tl.arange(0, 512)
    x = tl.load(x_ptr + offs[:, None] * 0 + offs[None, :] * 0)
    tl.store(z_ptr, tl.sum(tl.dot(x, tl.dot(x, x))))
"""


def test_an_illegal_address_hurts_no_one_else(sandbox: Sandbox) -> None:
    results = list(sandbox.launch(kernel("", ILLEGAL), [launch(), launch()]))
    assert [r.status for r in results] == ["runtime_error"]
    assert "outside its tensors" in results[0].message, results[0]
    works(sandbox)


def test_an_endless_kernel_is_killed(sandbox: Sandbox) -> None:
    results = list(sandbox.launch(kernel("", ENDLESS), [launch(), launch()]))
    assert [r.status for r in results] == ["timeout"]
    works(sandbox)


def test_too_much_shared_memory_says_what_to_do(sandbox: Sandbox) -> None:
    (result,) = sandbox.launch(kernel("", HUGE), [launch()])
    assert result.status in ("resource_limit", "compile_error"), result
    assert "smaller tiles" in result.message or result.status == "compile_error"
    works(sandbox)


def test_a_compile_error_keeps_its_line(sandbox: Sandbox) -> None:
    body = """
    @triton.jit
    def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
        tl.store(z_ptr + tl.arange(0, 3), 1.0)
    """
    (result,) = sandbox.launch(kernel("", body), [launch()])
    assert result.status == "compile_error", result
    assert "power of 2" in result.detail


@pytest.mark.parametrize("order", ["simulate, launch, simulate", "launch, simulate, launch"])
def test_simulator_and_gpu_share_one_function(order: str) -> None:
    """Neither leaves anything behind in the JITFunction that changes the other. In one process, so in a process of its own."""
    code = f"""
    import sys, tempfile, pathlib, torch
    from checker import gpu
    from checker.simulator import simulate
    from checker.simulator.trace import SimulateOptions
    from checker.submission.load import load_kernel
    from checker.course import PUZZLES
    from tests.gpu.test_gpu import solution
    puzzle = PUZZLES["row_softmax"]
    function = load_kernel(solution("row_softmax"), pathlib.Path(tempfile.mkdtemp()))
    known = [c for c in puzzle.cases if "cpu" in c.devices and c.dtype == "float32"]
    case = max(known, key=lambda c: c.sizes["N"])
    outputs = []
    for step in {order!r}.split(", "):
        launch = puzzle.launch(case, puzzle.make(case), case.meta)
        if step == "simulate":
            simulate(function, launch, SimulateOptions())
            outputs.append(launch.arguments["y_ptr"].clone())
        else:
            outputs.append(gpu.launch_kernel(function, launch)["y_ptr"])
    for output in outputs[1:]:
        torch.testing.assert_close(output, outputs[0], rtol=1e-5, atol=1e-9)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


def test_a_launch_is_timed(sandbox: Sandbox) -> None:
    """Reading and writing 256 MiB takes at least what the fastest memory needs, and not a hundred times as long."""
    n = 32 << 20
    x = torch.ones(n)
    bound = Launch(
        (n // 1024,), {"x_ptr": x, "y_ptr": x, "z_ptr": torch.empty(n), "N": n}, {"BLOCK_N": 1024}, ("z_ptr",)
    )
    (timing,) = sandbox.time(kernel(), [bound])
    assert timing.low <= timing.median <= timing.high
    assert 2 * n * 4 / 10e12 < timing.median < 2 * n * 4 / 30e9
    assert timing.repeats >= 5


def test_the_tier_of_a_gpu_machine_still_has_walls(sandbox: Sandbox) -> None:
    (result,) = sandbox.launch(kernel("import socket; socket.create_connection(('127.0.0.1', 9), 1)"), [launch()])
    assert result.status == "runtime_error"
    assert "PermissionError" in result.message or "Network is unreachable" in result.message, result.message
    works(sandbox)
