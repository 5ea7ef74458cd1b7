"""Cases simulated side by side: one that is wrong, has findings, or is near its tolerance runs again by itself."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from checker.course import PUZZLES
from checker.judge.launches import Prepared, plan, prepare_all
from checker.judge.outcome import NEAR, Candidate, Outcome
from checker.live.in_process import InProcess
from checker.misconceptions import quick
from tests.judge.helpers import changed, cpu_cases, judge, solution

ROW = PUZZLES["online_softmax"]


@cache
def cases() -> list[Prepared]:
    """A third of the cases."""
    return prepare_all(ROW, plan(cpu_cases(ROW)[::3], ()))


def one_by_one(runner, source) -> list[Outcome]:
    return list(Candidate(ROW, source, runner).simulate(cases()))


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> list[Outcome]:
    """The solution in each case by itself."""
    return one_by_one(InProcess(tmp_path_factory.mktemp("alone"), compiles=False), solution("online_softmax"))


def together(outcome: Outcome) -> bool:
    return outcome.trace is not None and outcome.trace.in_lockstep


def test_right_cases_ran_side_by_side(runner, alone):
    both = Candidate(ROW, solution("online_softmax"), runner).simulate_cases(cases())
    assert [o.case for o in both] == [o.case for o in alone]
    assert not any(map(together, alone))
    assert [together(o) for o in both] == [o.comparison.worst <= 1 / NEAR for o in alone]


def test_doubtful_cases_ran_alone(runner):
    forgets = changed(solution("online_softmax"), "l_i * tl.exp(m_i - m_safe)", "l_i")
    both = Candidate(ROW, forgets, runner).simulate_cases(cases())
    assert {o.right for o in both} == {True, False}
    for one, other in zip(one_by_one(runner, forgets), both, strict=True):
        in_doubt = 1 / NEAR < one.comparison.worst < NEAR
        assert not (together(other) and in_doubt)
        assert other.right == one.right
        if not one.right:
            mismatch, same = one.comparison.mismatch, other.comparison.mismatch
            assert (mismatch.first, mismatch.wrong, mismatch.writer) == (same.first, same.wrong, same.writer)
            assert np.allclose(mismatch.got, same.got, rtol=1e-5, equal_nan=True)


def test_a_case_near_its_tolerance_runs_alone(runner, alone):
    worst = max(o.comparison.worst for o in alone)
    for share in (0.4, 0.6):  # of the tolerance, made this small
        narrow = {d: replace(t, rtol=t.rtol * worst / share, c=t.c * worst / share) for d, t in ROW.tolerance.items()}
        puzzle = replace(ROW, tolerance=narrow)
        both = Candidate(puzzle, solution("online_softmax"), runner).simulate_cases(cases())
        assert all(o.right for o in both)
        assert any(not together(o) for o in both) == (share > 1 / NEAR)


def test_a_verdict_uses_one_thread_and_gives_the_others_back(tmp_path):
    """With small tensors more threads only wait for each other, and take processors from the simulation."""
    seen = set()

    class Watching(InProcess):
        def simulate(self, kernel, launches, options):
            seen.add(torch.get_num_threads())
            return super().simulate(kernel, launches, options)

    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        few = quick(PUZZLES["vector_add"])
        assert judge(few, solution("vector_add"), Watching(tmp_path, compiles=False)).passed
        assert (seen, torch.get_num_threads()) == ({1}, 3)
    finally:
        torch.set_num_threads(before)
