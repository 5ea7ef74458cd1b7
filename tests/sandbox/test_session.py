"""A session: the calls of one verdict share jobs, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from checker.compiler import CompileRequest
from checker.sandbox import Sandbox, supervisor
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


@pytest.fixture
def started(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The jobs that were started."""
    jobs: list[object] = []
    start = Session.start
    monkeypatch.setattr(Session, "start", lambda *given, **more: jobs.append(job := start(*given, **more)) or job)
    return jobs


def right(result: object, n: int) -> bool:
    return result.status == "passed" and torch.equal(result.tensors["z_ptr"], torch.arange(n) + 0.5)  # type: ignore[attr-defined]


def test_one_job_simulates_all_launches_of_a_kernel_with_each_calls_options(
    sandbox: Sandbox, started: list[object]
) -> None:
    with sandbox.session() as session:
        left_early = session.simulate(kernel(), [launch(n) for n in (5, 6, 7)])
        assert right(next(left_early), 5)
        left_early.close()  # type: ignore[attr-defined]
        (with_events,) = session.simulate(kernel(), [launch(8)], SimulateOptions(events=True))
        (without,) = session.simulate(kernel(), [launch(9)])
    assert right(with_events, 8)
    assert right(without, 9)
    assert with_events.trace is not None
    assert without.trace is not None
    assert with_events.trace.events
    assert not without.trace.events
    assert len(started) == 1


@pytest.mark.parametrize(("fatal", "status"), [(5, "protocol_error"), (6, "timeout")])
def test_a_job_that_ended_is_replaced(sandbox: Sandbox, started: list[object], fatal: int, status: str) -> None:
    with sandbox.session() as session:
        (ended,) = session.simulate(kernel("", STOPS_AT_5), [launch(fatal)])
        (after,) = session.simulate(kernel("", STOPS_AT_5), [launch(8)])
    assert ended.status == status
    assert after.status == "passed"
    assert len(started) == 2


def test_what_was_asked_and_not_waited_for_costs_the_next_call_its_job_at_most(
    sandbox: Sandbox, started: list[object]
) -> None:
    with sandbox.session() as session:
        results = session.simulate(kernel("", STOPS_AT_5), [launch(7), launch(6)])
        assert next(results).status == "passed"
        results.close()  # type: ignore[attr-defined]
        (after,) = session.simulate(kernel("", STOPS_AT_5), [launch(8)])
    assert after.status == "passed"
    assert len(started) == 2


def test_a_launch_that_needs_more_memory_gets_a_job_with_more(sandbox: Sandbox, started: list[object]) -> None:
    with sandbox.session() as session:
        for size in (8, 20_000_000):
            bound = launch(8)
            wide = {**bound.arguments, "x_ptr": torch.arange(size, dtype=torch.float32)[:8]}
            (result,) = session.simulate(kernel(), [replace(bound, arguments=wide)])
            assert right(result, 8)
    assert len(started) == 2


def test_compilations_share_their_jobs(sandbox: Sandbox, started: list[object]) -> None:
    with sandbox.session() as session:
        for capabilities in ((80, 90), (75, 89)):
            requests = [CompileRequest(c, TYPES, {"BLOCK_N": 128}, {"num_warps": 2}) for c in capabilities]
            assert all(result.ok for result in session.compile(kernel("# shared"), requests))
    assert len(started) <= 2


def test_leaving_a_session_ends_its_jobs(sandbox: Sandbox, started: list[object]) -> None:
    with sandbox.session() as session:
        list(session.simulate(kernel(), [launch()]))
        (job,) = started
        assert not job.closed  # type: ignore[attr-defined]
    assert job.closed  # type: ignore[attr-defined]


def test_what_is_compiled_waits_for_the_launch_of_the_same_session_only(sandbox: Sandbox, tmp_path: Path) -> None:
    folder, request = sandbox.worker._folder, CompileRequest(90, TYPES, {"BLOCK_N": 128}, {"num_warps": 1})

    def taken(jobs: Session, name: str) -> int:
        """How many programs for a GPU a job on the GPU would find."""
        (tmp_path / name).mkdir()
        cache = folder / f"cache-{jobs.cache}"
        job = Confinement(frozenset(), tmp_path / name, True, True, 0, sandbox.limits, cache)
        supervisor.take_compiled(job)
        supervisor.keep_compiled(job)  # what a launch leaves is nobody's
        return len(list((tmp_path / name).glob("cache/*/*.cubin")))

    with sandbox.session(gpu=True) as session, sandbox.session(gpu=True) as other:
        for _ in range(2):  # an answer from memory would leave nothing behind
            assert [result.ok for result in session.compile(kernel("# handed over"), [request])] == [True]
        session.hand_over()
        assert taken(other, "other") == 0
        assert taken(session, "own") == 1
        assert not list(folder.glob("cache-*"))
        assert next(iter(session.compile(kernel("# handed over"), [request]))).ok
    assert not list(folder.glob("cache-*"))
