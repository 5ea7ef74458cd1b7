"""Kernels on a GPU: the solutions pass, bad kernels are contained, and the simulator agrees."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest
import torch

from checker.course import PUZZLES
from checker.puzzle import Launch
from checker.sandbox import Sandbox
from tests.judge.helpers import judge, solution
from tests.sandbox.conftest import ROOT, does, kernel, launch

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("cuda")]


def works(sandbox: Sandbox) -> None:
    bound = launch()
    (result,) = sandbox.launch(kernel(), [bound])
    assert result.status == "passed", result.message + result.detail
    assert torch.equal(result.tensors["z_ptr"], bound.arguments["x_ptr"] + 0.5)


def test_asking_for_the_gpu_does_not_start_cuda() -> None:
    code = """
    from checker import gpu
    import torch
    assert gpu.available() and gpu.device_name() and gpu.capability() >= 75
    assert not torch.cuda.is_initialized()
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], cwd=ROOT, check=True, timeout=120)


LADDER_ON_GPU = (
    *("vector_add", "row_softmax", "flash_attention", "flash_attention_v1", "flash_attention_heads"),
    *("flash_attention_fast", "attention_dkdv", "attention_dq", "linear_attention", "causal_linear_attention"),
    *("causal_linear_attention_chunked", "linear_chunk_states", "linear_state_prefix"),
    "causal_linear_attention_parallel",
)


@pytest.mark.parametrize("name", LADDER_ON_GPU)
def test_a_solution_passes_every_case_in_every_dtype(sandbox: Sandbox, name: str) -> None:
    verdict = judge(PUZZLES[name], solution(name), sandbox, device="cuda", diagnose=False)
    assert verdict.passed, verdict.failure
    assert {g.gate: g.status for g in verdict.gates}["gpu"] == "passed"


def test_a_store_past_the_end_is_seen_in_the_guard_band(sandbox: Sandbox) -> None:
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


BAD_KERNELS = {
    "an illegal address": (
        ("offs_n = tl.arange(0, BLOCK_N).to(tl.int64)", "tl.store(z_ptr + (offs_n + 1) * 1099511627776, 1.0)"),
        {"runtime_error": "outside its tensors"},
    ),
    "an endless loop": (
        (
            "i = tl.load(x_ptr + 1) * 0.0",
            "while i < 1.0:",
            "    i = tl.load(x_ptr, volatile=True)",
            "tl.store(z_ptr, i)",
        ),
        {"timeout": ""},
    ),
    "too much shared memory": (
        (
            "x = tl.load(x_ptr + tl.arange(0, 16)[:, None] * 0 + tl.arange(0, 4096)[None, :] * 0)",
            "tl.store(z_ptr, tl.sum(tl.dot(x, tl.trans(x))))",  # 256 KiB, and soon compiled
        ),
        {"resource_limit": "smaller tiles", "compile_error": ""},
    ),
    "a tile of three": (("tl.store(z_ptr + tl.arange(0, 3), 1.0)",), {"compile_error": "power of 2"}),
}


@pytest.mark.parametrize(("lines", "statuses"), BAD_KERNELS.values(), ids=BAD_KERNELS)
def test_a_bad_kernel_is_explained_and_hurts_no_other(
    sandbox: Sandbox, lines: tuple[str, ...], statuses: dict[str, str]
) -> None:
    (result,) = sandbox.launch(does(*lines), [launch(), launch()])
    assert result.status in statuses, result
    assert statuses[result.status] in result.message + result.detail
    works(sandbox)


@pytest.mark.parametrize("order", ["simulate, launch, simulate", "launch, simulate, launch"])
def test_simulator_and_gpu_share_one_function(order: str) -> None:
    """Neither changes the JITFunction for the other. The code shares a process, so it gets a new one."""
    code = f"""
    import sys, tempfile, pathlib, torch
    from checker import gpu
    from checker.simulator import simulate
    from checker.simulator.trace import SimulateOptions
    from checker.submission.load import load_kernel
    from checker.course import PUZZLES
    from tests.judge.helpers import solution
    puzzle = PUZZLES["row_softmax"]
    function = load_kernel(solution("row_softmax"), pathlib.Path(tempfile.mkdtemp()))
    small = [c for c in puzzle.cases if "cpu" in c.devices and c.dtype == "float32"]
    case = max(small, key=lambda c: c.sizes["N"])
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
    """Moving 256 MiB takes as long as the fastest memory needs, and less than a hundred times as long."""
    n = 32 << 20
    x = torch.ones(n)
    bound = Launch(
        (n // 1024,), {"x_ptr": x, "y_ptr": x, "z_ptr": torch.empty(n), "N": n}, {"BLOCK_N": 1024}, ("z_ptr",)
    )
    (timing,) = sandbox.time(kernel(), [bound])
    assert timing.low <= timing.median <= timing.high
    assert 2 * n * 4 / 10e12 < timing.median < 2 * n * 4 / 30e9
    assert timing.repeats >= 5


def test_a_gpu_job_still_has_no_network(sandbox: Sandbox) -> None:
    (result,) = sandbox.launch(kernel("import socket; socket.create_connection(('127.0.0.1', 9), 1)"), [launch()])
    assert result.status == "runtime_error"
    assert "PermissionError" in result.message or "Network is unreachable" in result.message, result.message
    works(sandbox)
