"""The calls of a session share jobs, and launches simulated together give the same results as one by one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from checker.compiler import CompileRequest
from checker.judge.runner import RunResult
from checker.sandbox import Sandbox, supervisor
from checker.sandbox.client import Job
from checker.sandbox.isolation import Confinement
from checker.sandbox.session import Session
from checker.simulator.trace import SimulateOptions
from tests.sandbox.conftest import kernel, launch

STOPS_AT_5 = """
@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    if N == 5:
        __import__("os")._exit(3)
    if N == 6:
        while True:
            pass
    offs_n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    tl.store(z_ptr + offs_n, tl.load(x_ptr + offs_n, mask=offs_n < N), mask=offs_n < N)
"""
TYPES = {"x_ptr": "*fp32", "y_ptr": "*fp32", "z_ptr": "*fp32", "N": "i32", "BLOCK_N": "constexpr"}
TOGETHER = SimulateOptions(together=True)
ENDINGS = pytest.mark.parametrize(("fatal", "status"), [(5, "protocol_error"), (6, "timeout")])


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """The jobs that sessions start."""
    jobs: list[Job] = []
    start = Session.start
    monkeypatch.setattr(Session, "start", lambda *given, **more: jobs.append(job := start(*given, **more)) or job)
    return jobs


def right(result: RunResult, n: int) -> bool:
    return result.status == "passed" and torch.equal(result.tensors["z_ptr"], torch.arange(n) + 0.5)


def test_one_job_simulates_all_launches_of_a_kernel_until_the_session_ends(
    sandbox: Sandbox, started: list[Job]
) -> None:
    with sandbox.session() as session:
        left_early = session.simulate(kernel(), [launch(5)])
        assert right(next(left_early), 5)
        left_early.close()  # type: ignore[attr-defined]
        (with_events,) = session.simulate(kernel(), [launch(8)], SimulateOptions(events=True))
        (without,) = session.simulate(kernel(), [launch(9)])
        (job,) = started
        assert not job.closed
    assert job.closed
    assert right(with_events, 8)
    assert right(without, 9)
    assert with_events.trace is not None
    assert without.trace is not None
    assert with_events.trace.events
    assert not without.trace.events


@ENDINGS
def test_a_job_that_ended_is_replaced(sandbox: Sandbox, started: list[Job], fatal: int, status: str) -> None:
    with sandbox.session() as session:
        (ended,) = session.simulate(kernel("", STOPS_AT_5), [launch(fatal)])
        (after,) = session.simulate(kernel("", STOPS_AT_5), [launch(8)])
        unread = session.simulate(kernel("", STOPS_AT_5), [launch(7), launch(fatal)])
        assert next(unread).status == "passed"
        unread.close()  # type: ignore[attr-defined]
        (next_call,) = session.simulate(kernel("", STOPS_AT_5), [launch(8)])
    assert (ended.status, after.status, next_call.status) == (status, "passed", "passed")
    assert len(started) == 3


def test_a_launch_that_needs_more_memory_gets_a_job_with_more(sandbox: Sandbox, started: list[Job]) -> None:
    with sandbox.session() as session:
        for size in (8, 20_000_000):
            bound = launch(8)
            wide = {**bound.arguments, "x_ptr": torch.arange(size, dtype=torch.float32)[:8]}
            (result,) = session.simulate(kernel(), [replace(bound, arguments=wide)])
            assert right(result, 8)
    assert len(started) == 2


def test_compiled_files_reach_launches_of_the_same_session_only(sandbox: Sandbox, tmp_path: Path) -> None:
    folder, request = sandbox.worker._folder, CompileRequest(90, TYPES, {"BLOCK_N": 128}, {"num_warps": 1})

    def programs_for(session: Session, name: str) -> int:
        """The number of compiled GPU programs that a job on the GPU gets."""
        (tmp_path / name).mkdir()
        cache = folder / f"cache-{session.cache}"
        job = Confinement(frozenset(), tmp_path / name, True, True, 0, sandbox.limits, cache)
        supervisor.take_compiled(job)
        supervisor.keep_compiled(job)  # leftovers of a launch are not shared
        return len(list((tmp_path / name).glob("cache/*/*.cubin")))

    with sandbox.session(gpu=True) as session, sandbox.session(gpu=True) as other:
        for _ in range(2):  # a cached result would leave no files
            assert [result.ok for result in session.compile(kernel("# handed over"), [request])] == [True]
        session.hand_over()
        assert programs_for(other, "other") == 0
        assert programs_for(session, "own") == 1
        assert not list(folder.glob("cache-*"))
        assert next(iter(session.compile(kernel("# handed over"), [request]))).ok
    assert not list(folder.glob("cache-*"))


def test_launches_split_over_two_jobs_come_back_in_order_up_to_the_first_that_stops(
    sandbox: Sandbox, started: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    sizes = [n for n in (37, 50, 61) for _ in range(18)]
    launches = [launch(n, 2 ** (i % 18)) for i, n in enumerate(sizes)]
    results = list(sandbox.simulate(kernel(), launches, TOGETHER))
    assert all(right(result, n) for result, n in zip(results, sizes, strict=True))
    assert len(started) == 2
    stopping = [launch(5 if i in (9, 12) else 40, 2**i) for i in range(18)]
    results = list(sandbox.simulate(kernel("", STOPS_AT_5), stopping, TOGETHER))
    assert [result.status for result in results] == ["passed"] * 9 + ["protocol_error"]
