"""Launches that may run side by side: the results are those of running them one after another."""

from __future__ import annotations

import pytest
import torch

from checker.sandbox import Sandbox
from checker.sandbox import session as module
from checker.simulator.trace import SimulateOptions
from tests.sandbox.conftest import kernel, launch
from tests.sandbox.test_session import STOPS_AT_5, right

TOGETHER = SimulateOptions(together=True)


def side_by_side(result: object) -> bool:
    return result.trace is not None and result.trace.in_lockstep  # type: ignore[attr-defined]


def test_results_come_in_the_order_asked_each_with_its_own_tensors(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_TOGETHER", 4)
    sizes = (37, 50, 60, 61, 51, 90)
    launches = [launch(n) for n in sizes]
    results = list(sandbox.simulate(kernel(), launches, TOGETHER))
    assert [right(result, n) for result, n in zip(results, sizes, strict=True)] == [True] * len(sizes)
    # the last two are a batch of their own: all the same in it are side by side
    assert [side_by_side(result) for result in results] == [True] * len(sizes)
    assert all(bool(one.arguments["z_ptr"].isnan().all()) for one in launches)  # type: ignore[union-attr]


def test_launches_are_shared_out_by_shape_and_come_back_in_order(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    blocks = [2**i for i in range(8)]
    launches = [launch(n, block) for n in (37, 50, 61) for block in blocks]
    shares = module._shares(launches, 2)
    assert sorted(number for share in shares for number in share) == list(range(24))
    halves = {frozenset(launches[i].meta["BLOCK_N"] for i in share) for share in shares}
    assert halves == {frozenset(blocks[::2]), frozenset(blocks[1::2])}
    results = list(sandbox.simulate(kernel(), launches, TOGETHER))
    sizes = [n for n in (37, 50, 61) for _ in blocks]
    assert [right(result, n) for result, n in zip(results, sizes, strict=True)] == [True] * 24


def test_of_shared_out_launches_the_first_that_does_not_end_is_the_last(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    launches = [launch(5 if number in (9, 12) else 40, 2 ** (number % 8)) for number in range(16)]
    results = list(sandbox.simulate(kernel("", STOPS_AT_5), launches, TOGETHER))
    assert [result.status for result in results] == ["passed"] * 9 + ["protocol_error"]


def test_one_with_a_finding_runs_by_itself(sandbox: Sandbox) -> None:
    unmasked = kernel().source.replace("x + y, mask=mask", "x + y")
    launches = [launch(n) for n in (32, 37, 48)]
    results = list(sandbox.simulate(kernel("", unmasked.partition("language as tl\n")[2]), launches, TOGETHER))
    assert [side_by_side(result) for result in results] == [True, False, True]
    assert [f.kind for f in results[1].trace.findings] == ["out_of_bounds_store"]  # type: ignore[union-attr]
    assert torch.equal(results[1].tensors["z_ptr"], torch.arange(37) + 0.5)


@pytest.mark.parametrize(("fatal", "status"), [(5, "protocol_error"), (6, "timeout")])
def test_the_one_that_does_not_end_is_the_last(sandbox: Sandbox, fatal: int, status: str) -> None:
    launches = [launch(n) for n in (7, 40, fatal, 41)]
    results = list(sandbox.simulate(kernel("", STOPS_AT_5), launches, TOGETHER))
    assert [result.status for result in results] == ["passed", "passed", status]
    assert torch.equal(results[1].tensors["z_ptr"], torch.arange(40.0))


def test_a_kernel_that_cannot_be_loaded_fails_with_its_first_launch(sandbox: Sandbox) -> None:
    results = list(sandbox.simulate(kernel("1 / 0"), [launch(7), launch(8)], TOGETHER))
    assert [result.status for result in results] == ["runtime_error"]
    assert "ZeroDivisionError" in results[0].message


@pytest.mark.parametrize("more", [{"events": True}, {"explain_nan": True}, {"order": "reversed"}], ids=str)
def test_who_asks_for_more_gets_it(sandbox: Sandbox, more: dict[str, object]) -> None:
    (result, _) = sandbox.simulate(kernel(), [launch(37), launch(38)], SimulateOptions(together=True, **more))  # type: ignore[arg-type]
    assert right(result, 37)
    assert not side_by_side(result)
    assert result.trace is not None
    assert bool(result.trace.events) == ("events" in more)
