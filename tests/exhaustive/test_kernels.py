"""Every known kernel on every case: wrong ones fail and are named, right ones pass and are never named."""

from __future__ import annotations

import pytest

from checker.course import LADDER
from checker.judge.diagnosis import find_misconception
from checker.judge.launches import plan, prepare_all
from checker.judge.outcome import Candidate
from checker.live.in_process import InProcess
from checker.misconceptions import bank
from tests.judge.helpers import cpu_cases, judge
from tests.misconceptions.kernels import correct, problem, rewrites, styles, unseen

pytestmark = [
    pytest.mark.timeout(3600),
    pytest.mark.parametrize("puzzle", LADDER, ids=lambda puzzle: puzzle.name),
]
ONLY_AIMED = ("grid_of_4096_programs", "packed_rows_of_4096", "first_100_000_columns")
"""Unseen kernels with a condition that no case of the puzzle reaches."""


@pytest.fixture
def runner(tmp_path):
    return InProcess(tmp_path, compiles=False)


def test_wrong_kernels_are_caught_by_their_gate_and_named(puzzle, runner):
    problems = [problem(wrong, judge(puzzle, wrong.source, runner)) for wrong in bank(puzzle.name)]
    assert list(filter(None, problems)) == []


def test_rewritten_wrong_kernels_get_the_same_name(puzzle, runner):
    originals = {wrong.name: wrong for wrong in bank(puzzle.name)}
    problems = []
    for name, source in rewrites(puzzle.name).items():
        original = originals[name.rpartition("__")[0]]
        diagnosis = judge(puzzle, source, runner).diagnosis
        if diagnosis is None or diagnosis.misconception not in (original.name, *original.same_as):
            problems.append(f"{name} is called {diagnosis.misconception if diagnosis else 'right'}")
    assert problems == []


def test_kernels_that_passed_once_fail(puzzle, runner):
    gates = {}
    for name, source in unseen(puzzle.name).items():
        failure = judge(puzzle, source, runner, thorough=name in ONLY_AIMED).failure
        gates[name] = failure and failure.gate
    assert {name: gate for name, gate in gates.items() if gate not in ("values", "memory")} == {}


def test_correct_kernels_pass_and_are_never_named(puzzle, runner):
    for name, source in correct(puzzle.name).items():
        verdict = judge(puzzle, source, runner)
        assert verdict.passed, (name, verdict.failure)
        assert verdict.diagnosis is None
        candidate = Candidate(puzzle, source, runner)
        outcomes = list(candidate.simulate(prepare_all(puzzle, plan(cpu_cases(puzzle), ()))))
        for gate in ("values", "memory", "traffic"):
            for failing in (outcomes[0], outcomes[-1]):
                diagnosis = find_misconception(candidate, outcomes, failing, gate)
                assert diagnosis.misconception is None, name


def test_correct_kernels_in_other_styles_pass(puzzle, runner):
    for name, source in styles(puzzle.name).items():
        verdict = judge(puzzle, source, runner)
        assert verdict.passed, (name, verdict.failure)
