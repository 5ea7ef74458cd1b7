"""A red card says what to do next, truly for its puzzle, and its film opens."""

from __future__ import annotations

from checker.course import PUZZLES
from checker.misconceptions import bank, quick
from tests.judge.helpers import changed, judge, solution
from tests.misconceptions.cards import problem


def test_a_state_kept_in_memory_is_not_advised_to_stay_in_a_variable(runner):
    puzzle = PUZZLES["flash_attention_v1"]
    wrong = next(m for m in bank(puzzle.name) if m.name == "first_visit_loads")
    assert "At the first visit" in judge(quick(puzzle), wrong.source, runner, diagnose=False).failure.advice


def test_a_maximum_that_starts_at_a_large_negative_number_has_a_film(runner, monkeypatch):
    puzzle = PUZZLES["online_softmax"]
    source = changed(solution(puzzle.name), 'm_i = float("-inf")', "m_i = -1e30")
    source = changed(source, 'tl.where(m_new == float("-inf"), 0.0, m_new)', "m_new")
    assert problem(puzzle, source, judge(puzzle, source, runner), runner, monkeypatch) == ""
