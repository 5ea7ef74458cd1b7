"""Honest work gets the right results in order, and the sandbox recovers from failures."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from checker.compiler import CompileRequest
from checker.puzzle import Launch
from checker.sandbox import Limits, Sandbox, session
from checker.sandbox.session import Session
from checker.simulator.trace import SimulateOptions
from tests.sandbox.conftest import ROOT, does, kernel, launch, soon, works

SIGNATURE = {"x_ptr": "*fp32", "y_ptr": "*fp32", "z_ptr": "*fp32", "N": "i32"}


def request(capability: int, block: int = 64) -> CompileRequest:
    return CompileRequest(capability, SIGNATURE, {"BLOCK_N": block}, {"num_warps": 4})


def test_geometry_and_shared_storage_survive(sandbox: Sandbox) -> None:
    """A view into the middle of a poisoned buffer, with gaps, and two arguments over one storage."""
    buffer = torch.full((100,), -7.0)
    x = buffer[10:90].as_strided((20,), (3,), 12)
    x.copy_(torch.arange(20.0))
    body = """
    @triton.jit
    def vector_add_kernel(x_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
        offs_n = tl.arange(0, BLOCK_N)
        x = tl.load(x_ptr + 3 * offs_n, mask=offs_n < N, other=0.0)
        tl.store(z_ptr + 3 * offs_n, x + 1.0, mask=offs_n < N)
    """
    bound = Launch((1,), {"x_ptr": x, "z_ptr": x, "N": 20}, {"BLOCK_N": 32}, ("z_ptr",))
    (result,) = sandbox.simulate(kernel("", body), [bound])
    assert result.status == "passed", result.message
    z = result.tensors["z_ptr"]
    assert (z.stride(), z.storage_offset(), z.untyped_storage().nbytes()) == ((3,), 12, 400)
    assert torch.equal(z, torch.arange(1.0, 21.0))
    assert (torch.empty(0).set_(z.untyped_storage()) == -7.0).sum() == 80, "the gaps come back as they were"
    assert result.tensors["x_ptr"].untyped_storage().data_ptr() == z.untyped_storage().data_ptr()
    assert torch.equal(x, torch.arange(20.0)), "the caller's own tensor is untouched"


def test_the_first_failure_is_the_last_result(sandbox: Sandbox) -> None:
    launches = [launch(block=16), launch(block=32), launch(block=64), launch(block=16)]
    results = list(sandbox.simulate(does('tl.static_assert(BLOCK_N < 64, "too wide")'), launches))
    assert [r.status for r in results] == ["passed", "passed", "runtime_error"]
    assert results[-1].line == 6
    assert list(sandbox.simulate(kernel(), [])) == []


def test_a_large_launch_comes_back_with_its_trace(sandbox: Sandbox) -> None:
    """Its writers and their lines are longer than the limit on a small launch's trace."""
    (result,) = sandbox.simulate(kernel(), [launch(5_000_000, 1 << 18)])
    assert result.status == "passed", result.message
    assert result.trace is not None
    assert len(result.trace.writers["z_ptr"]) == 5_000_000


def test_compiled_results_come_in_order_and_are_remembered(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_job(*_: object, **__: object) -> None:
        raise AssertionError("a remembered result needs no job")

    requests = [request(c, 128) for c in (75, 80, 89, 90)]
    results = list(sandbox.compile(kernel(), requests))
    assert [(r.request, r.ok, r.status) for r in results] == [(q, True, "passed") for q in requests]
    monkeypatch.setattr(Session, "start", no_job)
    assert list(sandbox.compile(kernel(), requests)) == results
    assert list(sandbox.compile(kernel(), [])) == []


def test_a_failed_compilation_is_not_a_pass(sandbox: Sandbox) -> None:
    results = list(sandbox.compile(does("tl.store(z_ptr + tl.arange(0, 3), 1.0)"), [request(80), request(90)]))
    assert [(r.ok, r.status) for r in results] == [(False, "compile_error")] * 2
    assert "power of" in results[0].message + results[0].raw
    (died,) = sandbox.compile(kernel("import os; os._exit(0)"), [request(80)])
    assert (died.ok, died.status) == (False, "protocol_error")
    works(sandbox)


SLOW_ASSEMBLER = """
import os, subprocess, triton
_run, _compile, arch = subprocess.run, triton.compile, 0
def compile(source, target, options):
    global arch
    arch = target.arch
    return _compile(source, target=target, options=options)
def slow(command, *arguments, **more):
    spins = arch == 75 and "--version" not in command
    return _run(["sh", "-c", "while :; do :; done"] if spins else command, *arguments, **more)
triton.compile, subprocess.run = compile, slow
"""


def test_an_assembler_that_hangs_costs_only_its_own_result() -> None:
    with Sandbox(Limits(compile=2.0)) as hasty:
        results = list(hasty.compile(kernel(SLOW_ASSEMBLER), [request(c) for c in (75, 80, 89, 90)]))
        assert [r.status for r in results] == ["timeout", "passed", "passed", "passed"]
        assert "T4 (sm_75)" in results[0].message
        assert "2 s" in results[0].message
        assert [int(r.facts["registers"]) > 0 for r in results[1:]] == [True] * 3
        works(hasty)


def test_a_worker_that_was_killed_or_closed_is_replaced() -> None:
    with Sandbox() as fresh:
        works(fresh)
        assert fresh.worker.pid is not None
        os.kill(fresh.worker.pid, signal.SIGKILL)
        time.sleep(0.1)
        works(fresh)
        pid, folder = fresh.worker.pid, fresh.worker._folder
        fresh.close()
        assert not Path(f"/proc/{pid}").exists()
        assert not folder.exists()
        works(fresh)


def test_closing_does_not_wait_for_a_worker_that_still_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted check would wait for it, and it reads nothing before it is ready."""
    waits: list[float | None] = []
    wait = subprocess.Popen.wait
    monkeypatch.setattr(
        "subprocess.Popen.wait", lambda process, timeout=None: (waits.append(timeout), wait(process, timeout))[1]
    )
    fresh = Sandbox()
    fresh.start()
    fresh.close()
    assert waits == [0, None]


def test_a_worker_that_cannot_start_is_not_the_learners_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = (sys.executable, "-c", "print('no torch here'); raise SystemExit(1)")
    monkeypatch.setattr("checker.sandbox.client._COMMAND", broken)
    fresh = Sandbox()
    (result,) = fresh.simulate(kernel(), [launch()])
    assert result.status == "infra_error"
    assert "no torch here" in result.message
    (compiled,) = fresh.compile(kernel(), [request(80, 1024)])
    assert compiled.status == "infra_error"


def test_leaving_early_and_an_interrupt_end_the_job(sandbox: Sandbox, request: pytest.FixtureRequest) -> None:
    # A shell that starts the tests in the background makes them ignore interrupts; a notebook's kernel never does.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    results = sandbox.simulate(kernel(), [launch(), launch(), launch(), launch()])
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert idle(sandbox)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        list(sandbox.simulate(kernel("import time; time.sleep(100)"), [launch()]))
    assert idle(sandbox)
    works(sandbox)


def test_an_interrupt_does_not_wait_for_launches_in_another_job(
    sandbox: Sandbox, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    statuses: list[str] = []
    result = session._result
    monkeypatch.setattr(session, "_result", lambda *args: (one := result(*args), statuses.append(one.status))[0])
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    launches = [launch(10, 2**n) for n in range(1, 9)]
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        list(sandbox.simulate(kernel("import time; time.sleep(3)"), launches, SimulateOptions(together=True)))
    assert "passed" not in statuses
    assert idle(sandbox)
    works(sandbox)


def idle(sandbox: Sandbox) -> bool:
    """No job of the sandbox is left."""
    return soon(lambda: not list(sandbox.worker._folder.glob("job-*")))


def test_no_descriptor_and_no_folder_is_left_behind(sandbox: Sandbox) -> None:
    works(sandbox)
    assert idle(sandbox)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        works(sandbox)
        list(sandbox.simulate(kernel("import os; os._exit(1)"), [launch(), launch()]))
        list(sandbox.compile(kernel("1 / 0"), [request(75), request(80)]))
    assert len(os.listdir("/proc/self/fd")) == before
    assert idle(sandbox)


def test_threads_can_share_a_sandbox(sandbox: Sandbox) -> None:
    def hangs() -> None:
        assert next(iter(sandbox.simulate(kernel("while True: pass"), [launch()]))).status == "timeout"

    with ThreadPoolExecutor(4) as threads:
        for job in [threads.submit(work) for work in (lambda: works(sandbox), hangs) * 2]:
            job.result()


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=120, check=False
    )


def test_a_forked_child_starts_its_own_worker() -> None:
    code = """
import os
from checker.sandbox import Sandbox
from tests.sandbox.conftest import works
s = Sandbox.shared(); assert s is Sandbox.shared()
works(s); mine = s.worker.pid
child = os.fork()
if child == 0:
    works(s); assert s.worker.pid != mine; s.close(); os._exit(0)
assert os.waitpid(child, 0)[1] == 0
works(s); assert s.worker.pid == mine
print(mine)
"""
    done = run_python(code)
    assert done.returncode == 0, done.stderr
    assert not Path(f"/proc/{done.stdout.strip()}").exists(), "the worker ends with the process that started it"


def test_a_parent_that_is_killed_takes_everything_with_it() -> None:
    code = """
import os, signal, threading, time
from checker.sandbox import Sandbox
from tests.sandbox.conftest import kernel, launch, works
s = Sandbox(); works(s)
threading.Thread(target=lambda: list(s.simulate(kernel("while True: pass"), [launch()])), daemon=True).start()
time.sleep(0.7)
print(s.worker.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    worker = Path("/proc", run_python(code).stdout.strip())
    assert soon(lambda: not worker.exists(), seconds=5), "the worker outlived its parent"
