"""The gpu gate, with the simulator standing in for a GPU: which cases run, poisons, guard bands, and messages."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checker.course import PUZZLES
from checker.judge.compile_gate import Compilation
from checker.judge.gpu_gate import WIDEST, worth_launching
from checker.judge.launches import GUARD, plan, prepare_all, whole
from checker.judge.outcome import Candidate
from checker.judge.runner import RunResult
from checker.simulator.trace import SimulateOptions
from tests.judge.helpers import judge, solution

ADD = PUZZLES["vector_add"]
SMALL = tuple(replace(c, sizes={"N": min(c.sizes["N"], 2000)}) for c in ADD.cases)
PUZZLE = replace(ADD, cases=SMALL)


@pytest.fixture(autouse=True)
def a_gpu(monkeypatch):
    monkeypatch.setattr("checker.gpu.available", lambda: True)


def on_gpu(runner, spoil=lambda launch, tensors: None, status="passed"):
    class Gpu(type(runner)):
        launches = 0

        def launch(self, kernel, launches):
            for result in self.simulate(kernel, launches, SimulateOptions()):
                self.launches += 1
                if status != "passed":
                    yield RunResult(status, message="an illegal address")
                    return
                spoil(self.launches, result.tensors)
                yield RunResult("passed", result.tensors)

    return Gpu(runner.directory, compiles=False)


def judged(gpu):
    verdict = judge(PUZZLE, solution("vector_add"), gpu, device="cuda")
    return verdict, next(g for g in verdict.gates if g.gate == "gpu")


def test_launches_have_every_dtype_with_every_constant_and_every_layout_and_tile():
    heads = PUZZLES["flash_attention_heads"]
    small = [case for case in heads.cases if {"cpu", "gpu"} <= case.devices]
    cases = [case for case in heads.cases if "gpu" in case.devices]
    planned = worth_launching(heads, cases, (), prepare_all(heads, plan(small, ())))
    chosen = [case for case, config in planned if config is None]
    assert len(chosen) == len(planned)
    assert [case for case in chosen if "cpu" not in case.devices] == [c for c in cases if "cpu" not in c.devices]

    def met(case):
        tiles = {(name, size) for name, size in case.meta.items() if size <= WIDEST}
        return {case.layout, *tiles, (case.dtype, case.flags.get("IS_CAUSAL"))}

    launched_small = [case for case in chosen if "cpu" in case.devices]
    assert set().union(*map(met, small)) <= set().union(*map(met, chosen))
    assert {case.dtype for case in small} == {case.dtype for case in launched_small}
    assert 10 < len(chosen) < 20 < len(cases)


def test_small_cases_are_launched_twice_and_large_ones_once(runner):
    gpu = on_gpu(runner)
    verdict, gate = judged(gpu)
    assert verdict.passed, gate
    assert gate.status == "passed"
    prepared = prepare_all(PUZZLE, plan(PUZZLE.cases, ()))
    compiled = Compilation(Candidate(PUZZLE, solution("vector_add"), gpu), prepared).largest
    launched = worth_launching(PUZZLE, PUZZLE.cases, (), prepared, [compiled])
    small = sum("cpu" in c.devices for c, _ in launched)
    assert gpu.launches == 2 * small + 2
    assert len(launched) == small + 2


def test_a_value_that_is_wrong_only_on_the_gpu_is_reported_as_such(runner):
    def spoil(n, tensors):
        if n == 3:
            tensors["z_ptr"][2] = 99.0

    verdict, gate = judged(on_gpu(runner, spoil))
    assert verdict.status == gate.status == "failed"
    assert "On the GPU z[2] is 99" in gate.message
    assert "the simulator got the same case right" in gate.message
    assert verdict.diagnosis.misconception is None
    assert verdict.score == 0


def test_damage_on_the_gpu_fails(runner):
    def guard(at):
        return lambda n, tensors: whole(tensors["z_ptr"])[GUARD + (at or tensors["z_ptr"].numel()) :][:1].fill_(0.0)

    def left_as_it_was(n, tensors):  # whatever the poison, an element that is not written is wrong
        tensors["z_ptr"][-1:].fill_(float("nan") if n == 1 else -7936.0)

    for spoil, message in (
        (guard(-3), "3 before its start"),
        (guard(None), "1 past its end"),
        (lambda n, tensors: tensors["x_ptr"][:1].mul_(2), "x is an input, and x[0] changed"),
        (left_as_it_was, ""),
    ):
        _, gate = judged(on_gpu(runner, spoil))
        assert gate.status == "failed"
        assert message in gate.message


def test_the_way_a_launch_ends_becomes_the_status(runner):
    for status in ("timeout", "runtime_error", "infra_error"):
        verdict, gate = judged(on_gpu(runner, status=status))
        assert verdict.status == gate.status == status
        inside = "In the simulator every address of the same case was inside its tensor"
        assert (inside in gate.advice) == (status == "runtime_error")


def test_a_missing_gpu_is_an_infra_error(runner):
    verdict = judge(PUZZLE, solution("vector_add"), runner, device="cuda")
    assert verdict.status == "infra_error"
    assert verdict.score == 0
